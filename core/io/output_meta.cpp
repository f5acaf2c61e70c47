// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/writer.h"

#include "core/io/le_bytes.h"

namespace halftone {

namespace {

template <class T> OutputMeta scalar(std::string key, MetaType type, T value)
{
    OutputMeta meta;
    meta.key = std::move(key);
    meta.type = type;
    appendLe(meta.raw, value);
    return meta;
}

OutputMeta array(std::string key, MetaType elementType, std::size_t count)
{
    OutputMeta meta;
    meta.key = std::move(key);
    meta.type = MetaType::Array;
    meta.elementType = elementType;
    meta.count = count;
    return meta;
}

} // namespace

OutputMeta metaOf(std::string key, std::string_view value)
{
    OutputMeta meta;
    meta.key = std::move(key);
    appendGgufString(meta.raw, value);
    return meta;
}

OutputMeta metaOfU32(std::string key, std::uint32_t value)
{
    return scalar(std::move(key), MetaType::U32, value);
}

OutputMeta metaOfF32(std::string key, float value) { return scalar(std::move(key), MetaType::F32, value); }

OutputMeta metaOfBool(std::string key, bool value)
{
    return scalar<std::uint8_t>(std::move(key), MetaType::Bool, value ? 1 : 0);
}

OutputMeta metaOfStrings(std::string key, std::span<const std::string> values)
{
    auto meta = array(std::move(key), MetaType::String, values.size());
    for (const auto& v : values)
        appendGgufString(meta.raw, v);
    return meta;
}

OutputMeta metaOfI32s(std::string key, std::span<const std::int32_t> values)
{
    auto meta = array(std::move(key), MetaType::I32, values.size());
    for (const auto v : values)
        appendLe(meta.raw, v);
    return meta;
}

OutputMeta metaCopy(const MetaEntry& entry)
{
    return {entry.key, entry.type, entry.elementType, entry.count, {entry.raw.begin(), entry.raw.end()}};
}

} // namespace halftone
