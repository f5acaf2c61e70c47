// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/checkpoint.h"

#include "core/base/text.h"
#include "core/io/gguf_header.h"
#include "core/io/le_bytes.h"
#include "core/io/text_names.h"

#include <fmt/core.h>
#include <limits>

namespace halftone {

namespace {

bool isScalar(const MetaEntry& entry)
{
    const std::size_t size = metaBytes(entry.type);
    return size > 0 && entry.raw.size() == size;
}

// The string at `at`, which moves behind it.
std::optional<std::string_view> stringAt(std::span<const std::byte> raw, std::uint64_t& at)
{
    if (raw.size() - at < sizeof(std::uint64_t)) return std::nullopt;
    const auto length = readLe<std::uint64_t>(raw.subspan(at));
    at += sizeof(std::uint64_t);
    if (length > raw.size() - at) return std::nullopt;
    const auto text = asText(raw.subspan(at, length));
    at += length;
    return text;
}

const char* typeName(MetaType type)
{
    switch (type) {
    case MetaType::U8:
        return "u8";
    case MetaType::I8:
        return "i8";
    case MetaType::U16:
        return "u16";
    case MetaType::I16:
        return "i16";
    case MetaType::U32:
        return "u32";
    case MetaType::I32:
        return "i32";
    case MetaType::F32:
        return "f32";
    case MetaType::Bool:
        return "bool";
    case MetaType::String:
        return "strings";
    case MetaType::Array:
        return "arrays";
    case MetaType::U64:
        return "u64";
    case MetaType::I64:
        return "i64";
    case MetaType::F64:
        return "f64";
    }
    return "?";
}

} // namespace

std::optional<std::string> metaString(const MetaEntry& entry)
{
    if (entry.type != MetaType::String) return std::nullopt;
    std::uint64_t at = 0;
    const auto text = stringAt(entry.raw, at);
    return text ? std::optional<std::string>(*text) : std::nullopt;
}

std::optional<std::int64_t> metaInt(const MetaEntry& entry)
{
    if (!isScalar(entry)) return std::nullopt;
    switch (entry.type) {
    case MetaType::U8:
        return readLe<std::uint8_t>(entry.raw);
    case MetaType::I8:
        return readLe<std::int8_t>(entry.raw);
    case MetaType::U16:
        return readLe<std::uint16_t>(entry.raw);
    case MetaType::I16:
        return readLe<std::int16_t>(entry.raw);
    case MetaType::U32:
        return readLe<std::uint32_t>(entry.raw);
    case MetaType::I32:
        return readLe<std::int32_t>(entry.raw);
    case MetaType::I64:
        return readLe<std::int64_t>(entry.raw);
    case MetaType::U64: {
        const auto value = readLe<std::uint64_t>(entry.raw);
        if (value > std::uint64_t(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
        return static_cast<std::int64_t>(value);
    }
    default:
        return std::nullopt;
    }
}

std::optional<double> metaReal(const MetaEntry& entry)
{
    if (!isScalar(entry)) return std::nullopt;
    if (entry.type == MetaType::F32) return static_cast<double>(readLe<float>(entry.raw));
    if (entry.type == MetaType::F64) return readLe<double>(entry.raw);
    if (entry.type == MetaType::U64) return static_cast<double>(readLe<std::uint64_t>(entry.raw));
    const auto whole = metaInt(entry);
    return whole ? std::optional<double>(static_cast<double>(*whole)) : std::nullopt;
}

std::optional<bool> metaBool(const MetaEntry& entry)
{
    if (entry.type != MetaType::Bool || !isScalar(entry)) return std::nullopt;
    return entry.raw[0] != std::byte{0};
}

std::optional<std::vector<std::string>> metaStrings(const MetaEntry& entry)
{
    if (entry.type != MetaType::Array || entry.elementType != MetaType::String) return std::nullopt;
    std::vector<std::string> out;
    std::uint64_t at = 0;
    for (std::uint64_t i = 0; i < entry.count; ++i) {
        const auto text = stringAt(entry.raw, at);
        if (!text) return std::nullopt;
        out.emplace_back(*text);
    }
    return out;
}

std::string metaText(const MetaEntry& entry)
{
    if (entry.type == MetaType::Array)
        return fmt::format("[{} {}]", entry.count, typeName(entry.elementType));
    if (const auto text = metaString(entry)) {
        constexpr std::size_t kLimit = 200;
        return text->size() <= kLimit ? shownName(*text, kLimit)
                                      : fmt::format("{} ({} bytes)", shownName(*text, kLimit), text->size());
    }
    if (const auto flag = metaBool(entry)) return *flag ? "true" : "false";
    if (const auto whole = metaInt(entry)) return fmt::format("{}", *whole);
    if (entry.type == MetaType::U64 && isScalar(entry))
        return fmt::format("{}", readLe<std::uint64_t>(entry.raw));
    if (entry.type == MetaType::F32 && isScalar(entry)) return fmt::format("{}", readLe<float>(entry.raw));
    if (const auto real = metaReal(entry)) return exactNumber(*real);
    return "unreadable";
}

} // namespace halftone
