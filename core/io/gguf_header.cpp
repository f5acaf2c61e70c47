// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/gguf_header.h"

#include "core/base/checked.h"
#include "core/base/text.h"
#include "core/io/checkpoint_impl.h"
#include "core/io/le_bytes.h"
#include "core/io/text_names.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <limits>
#include <optional>

namespace halftone {

namespace {

constexpr int kMaxArrayDepth = 4;
constexpr std::size_t kMaxNameBytes = 65535; // the format's limit of keys
constexpr std::uint32_t kVersions[] = {2, 3};
// The least an entry can take: key length, type, one byte; and name length, dimension count, type, offset.
constexpr std::uint64_t kLeastMetaBytes = 8 + 4 + 1;
constexpr std::uint64_t kLeastTensorBytes = 8 + 4 + 4 + 8;
constexpr std::uint64_t kUnknownSize = std::numeric_limits<std::uint64_t>::max();

Error bad(std::string text) { return Error(Errc::BadFormat, std::move(text)); }

// Reads forward and never behind the end.
class Cursor {
public:
    explicit Cursor(std::span<const std::byte> bytes) : m_bytes(bytes) {}
    std::uint64_t position() const { return m_at; }
    std::uint64_t left() const { return m_bytes.size() - m_at; }
    bool skip(std::uint64_t n)
    {
        if (n > left()) return false;
        m_at += n;
        return true;
    }
    template <class T> std::optional<T> number()
    {
        if (sizeof(T) > left()) return std::nullopt;
        const T value = readLe<T>(m_bytes.subspan(m_at));
        m_at += sizeof(T);
        return value;
    }
    std::optional<std::string_view> string()
    {
        const auto length = number<std::uint64_t>();
        if (!length || *length > left()) return std::nullopt;
        const auto text = asText(m_bytes.subspan(m_at, *length));
        m_at += *length;
        return text;
    }
    std::span<const std::byte> since(std::uint64_t start) const
    {
        return m_bytes.subspan(start, m_at - start);
    }

private:
    std::span<const std::byte> m_bytes;
    std::uint64_t m_at = 0;
};

class HeaderReader {
public:
    explicit HeaderReader(std::span<const std::byte> file) : m_file(file), m_in(file) {}

    Result<GgufHeader> read()
    {
        HALFTONE_CHECK(readStart());
        m_out.metadata.reserve(m_metaCount);
        for (std::uint64_t i = 0; i < m_metaCount; ++i)
            HALFTONE_CHECK(readMeta(i));
        HALFTONE_CHECK(checkKeys());
        m_out.tensors.reserve(m_tensorCount);
        for (std::uint64_t i = 0; i < m_tensorCount; ++i)
            HALFTONE_CHECK(readTensor(i));
        m_out.headerBytes = m_in.position();
        HALFTONE_CHECK(placeTensors());
        return std::move(m_out);
    }

private:
    Error endsInside(std::string what) const
    {
        return bad(fmt::format("ends inside {}, at byte {} of {}; get the file again", what, m_in.position(),
                               m_file.size()));
    }

    Status readStart()
    {
        m_in.skip(4); // magic, looked at by the caller
        const auto version = m_in.number<std::uint32_t>();
        if (!version) return endsInside("the GGUF header");
        if (*version != 0 && (*version & 0xffffu) == 0)
            return Error(Errc::Unsupported,
                         "is a big-endian GGUF file; convert it with gguf_convert_endian.py of llama.cpp");
        if (*version == 1)
            return Error(Errc::Unsupported,
                         "is GGUF version 1 of August 2023, which is not supported; convert the model again");
        if (std::ranges::find(kVersions, *version) == std::end(kVersions))
            return Error(Errc::Unsupported,
                         fmt::format("is GGUF version {}; versions 2 and 3 are supported", *version));
        const auto tensors = m_in.number<std::uint64_t>();
        const auto entries = m_in.number<std::uint64_t>();
        if (!tensors || !entries) return endsInside("the GGUF header");
        const auto claims = [&](std::uint64_t count, std::uint64_t least, const char* what) -> Status {
            if (count <= m_in.left() / least) return Ok{};
            return bad(
                fmt::format("claims {} {}, too many for a file of {} bytes; the file is damaged or forged",
                            count, what, m_file.size()));
        };
        HALFTONE_CHECK(claims(*tensors, kLeastTensorBytes, "tensors"));
        HALFTONE_CHECK(claims(*entries, kLeastMetaBytes, "metadata entries"));
        m_tensorCount = *tensors;
        m_metaCount = *entries;
        return Ok{};
    }

    Result<std::string> readName(const std::string& what)
    {
        const auto text = m_in.string();
        if (!text) return endsInside("the name of " + what);
        if (text->size() > kMaxNameBytes)
            return bad(fmt::format("the name of {} has {} bytes, {} is the most", what, text->size(),
                                   kMaxNameBytes));
        if (!isUtf8(*text)) return bad(fmt::format("the name of {} is no UTF-8: {}", what, shownName(*text)));
        return std::string(*text);
    }

    static std::optional<MetaType> typeOf(std::uint32_t number)
    {
        if (number > static_cast<std::uint32_t>(MetaType::F64)) return std::nullopt;
        return static_cast<MetaType>(number);
    }

    Status readMeta(std::uint64_t index)
    {
        MetaEntry entry;
        HALFTONE_TRY(key, readName(fmt::format("metadata entry {}", index)));
        entry.key = std::move(key);
        const std::string where = "metadata entry " + shownName(entry.key);
        const auto number = m_in.number<std::uint32_t>();
        if (!number) return endsInside(where);
        const auto type = typeOf(*number);
        if (!type) return bad(fmt::format("{} has the unknown value type {}", where, *number));
        entry.type = *type;
        if (entry.type == MetaType::Array) {
            HALFTONE_TRY(shape, readArrayStart(where));
            entry.elementType = shape.first;
            entry.count = shape.second;
            const auto start = m_in.position();
            HALFTONE_CHECK(skipItems(entry.elementType, entry.count, 1, where));
            entry.raw = m_in.since(start);
        } else {
            const auto start = m_in.position();
            HALFTONE_CHECK(skipItems(entry.type, 1, 0, where));
            entry.raw = m_in.since(start);
        }
        m_out.metadata.push_back(std::move(entry));
        return Ok{};
    }

    Result<std::pair<MetaType, std::uint64_t>> readArrayStart(const std::string& where)
    {
        const auto number = m_in.number<std::uint32_t>();
        const auto count = m_in.number<std::uint64_t>();
        if (!number || !count) return endsInside(where);
        const auto type = typeOf(*number);
        if (!type) return bad(fmt::format("{} is an array of the unknown value type {}", where, *number));
        return std::pair(*type, *count);
    }

    // Recursion is bounded by kMaxArrayDepth.
    Status skipItems(MetaType type, std::uint64_t count, int depth, const std::string& where)
    {
        const auto tooMany = [&] {
            return bad(
                fmt::format("{} claims {} items, more than the {} bytes that are left can hold; the file "
                            "is damaged or forged",
                            where, count, m_in.left()));
        };
        if (const std::size_t size = metaBytes(type); size > 0) {
            if (count > m_in.left() / size) return tooMany();
            m_in.skip(count * size);
            return Ok{};
        }
        const std::uint64_t least = type == MetaType::String ? 8 : 12;
        if (count > m_in.left() / least) return tooMany();
        if (type == MetaType::String) {
            for (std::uint64_t i = 0; i < count; ++i)
                if (!m_in.string()) return endsInside(where + ", or a string in it is longer than the file");
            return Ok{};
        }
        if (depth >= kMaxArrayDepth)
            return bad(fmt::format("{} nests arrays deeper than {} levels", where, kMaxArrayDepth));
        for (std::uint64_t i = 0; i < count; ++i) {
            HALFTONE_TRY(inner, readArrayStart(where));
            HALFTONE_CHECK(skipItems(inner.first, inner.second, depth + 1, where));
        }
        return Ok{};
    }

    Status checkKeys()
    {
        std::vector<std::string_view> keys;
        for (const auto& e : m_out.metadata)
            keys.push_back(e.key);
        std::ranges::sort(keys);
        const auto twice = std::ranges::adjacent_find(keys);
        if (twice != keys.end())
            return bad(fmt::format("metadata entry {} stands twice; the file is damaged", shownName(*twice)));
        for (const auto& e : m_out.metadata) {
            if (e.key != "general.alignment") continue;
            const auto value = e.type == MetaType::U32 ? metaInt(e) : std::nullopt;
            if (!value || *value <= 0 || (*value & (*value - 1)) != 0)
                return bad(fmt::format("general.alignment is {}, but must be a power of two of type u32",
                                       metaText(e)));
            m_alignment = static_cast<std::uint64_t>(*value);
        }
        return Ok{};
    }

    Status readTensor(std::uint64_t index)
    {
        TensorInfo info;
        HALFTONE_TRY(name, readName(fmt::format("tensor {}", index)));
        info.name = std::move(name);
        const std::string where = "tensor " + shownName(info.name);
        const auto dimCount = m_in.number<std::uint32_t>();
        if (!dimCount) return endsInside(where);
        if (*dimCount > static_cast<std::uint32_t>(kGgufMaxDims))
            return bad(fmt::format("{} has {} dimensions, {} is the most", where, *dimCount, kGgufMaxDims));
        std::array<std::int64_t, kGgufMaxDims> dims{};
        for (std::uint32_t d = 0; d < *dimCount; ++d) {
            const auto extent = m_in.number<std::int64_t>();
            if (!extent) return endsInside(where);
            if (*extent < 0) return bad(fmt::format("{} has the dimension {}", where, *extent));
            dims[*dimCount - 1 - d] = *extent; // fastest first in the file
        }
        const auto type = m_in.number<std::uint32_t>();
        const auto offset = m_in.number<std::uint64_t>();
        if (!type || !offset) return endsInside(where);
        const auto shape = Shape::checked(std::span(dims.data(), *dimCount));
        if (!shape)
            return bad(
                fmt::format("{}: the number of elements overflows; the file is damaged or forged", where));
        info.shape = *shape;
        info.fileOffset = *offset;
        if (*offset % m_alignment != 0)
            return bad(
                fmt::format("{}: offset {} is no multiple of the alignment {}", where, *offset, m_alignment));
        if (info.name.size() >= kGgufNameLimit)
            m_out.problems.push_back(fmt::format("{}: names of {} bytes and more are refused by llama.cpp",
                                                 where, kGgufNameLimit));
        HALFTONE_CHECK(setType(info, *type).in(where));
        m_out.tensors.push_back(std::move(info));
        return Ok{};
    }

    static Status setType(TensorInfo& info, std::uint32_t id)
    {
        info.stored.ggufId = id;
        const GgufTypeInfo* type = ggufTypeInfo(id);
        if (type == nullptr) {
            info.stored.name = fmt::format("type {}", id);
            info.stored.whyOpaque = fmt::format("unknown type {}: size taken from the gap", id);
            info.bytes = kUnknownSize;
            return Ok{};
        }
        info.stored.name = type->name;
        const std::int64_t cols = info.shape.cols();
        if (cols % type->blockSize != 0)
            return bad(fmt::format("rows of {} elements don't fill the {}-element blocks of {}", cols,
                                   type->blockSize, type->name));
        const auto blocks = static_cast<std::uint64_t>(info.shape.count()) / type->blockSize;
        const auto bytes = checkedMul<std::uint64_t>(blocks, type->blockBytes);
        if (!bytes)
            return bad(fmt::format("the size of {} elements of {} overflows; the file is damaged or forged",
                                   info.shape.count(), type->name));
        info.bytes = *bytes;
        info.stored.plain = type->plain;
        if (!type->plain) {
            info.stored.blocks = formatOfGgufType(id);
            if (info.stored.blocks == nullptr)
                info.stored.whyOpaque = fmt::format("{} is not decoded by this version", type->name);
        }
        return Ok{};
    }

    Status placeTensors()
    {
        auto& tensors = m_out.tensors;
        const auto start = checkedRoundUp(m_out.headerBytes, m_alignment);
        // Without tensors there need be no data area, nor the padding in front of it.
        if (!start || (*start > m_file.size() && !tensors.empty()))
            return bad(
                fmt::format("the data should start at byte {}, behind the end at {}; get the file again",
                            start.value_or(kUnknownSize), m_file.size()));
        const std::uint64_t area = m_file.size() - std::min<std::uint64_t>(*start, m_file.size());
        // Those of unknown size last among equals, so that empty ones may share their offset.
        std::ranges::stable_sort(tensors, [](const TensorInfo& a, const TensorInfo& b) {
            return std::pair(a.fileOffset, a.bytes) < std::pair(b.fileOffset, b.bytes);
        });
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            if (tensors[i].bytes != kUnknownSize) continue;
            const std::uint64_t next = i + 1 < tensors.size() ? tensors[i + 1].fileOffset : area;
            if (next < tensors[i].fileOffset)
                return bad(fmt::format("tensor {}: offset {} is behind the end of the data at {}",
                                       shownName(tensors[i].name), tensors[i].fileOffset, next));
            tensors[i].bytes = next - tensors[i].fileOffset;
        }
        HALFTONE_TRY(tiling, checkTiling(tensors, area, m_alignment));
        for (auto& p : tiling.problems)
            m_out.problems.push_back(std::move(p));
        m_out.cut = std::move(tiling.cut);
        m_out.end = tiling.end + *start;
        for (auto& t : tensors)
            t.fileOffset += *start;
        return Ok{};
    }

    std::span<const std::byte> m_file;
    Cursor m_in;
    GgufHeader m_out;
    std::uint64_t m_tensorCount = 0, m_metaCount = 0;
    std::uint64_t m_alignment = kGgufAlignment;
};

} // namespace

std::size_t metaBytes(MetaType type)
{
    switch (type) {
    case MetaType::U8:
    case MetaType::I8:
    case MetaType::Bool:
        return 1;
    case MetaType::U16:
    case MetaType::I16:
        return 2;
    case MetaType::U32:
    case MetaType::I32:
    case MetaType::F32:
        return 4;
    case MetaType::U64:
    case MetaType::I64:
    case MetaType::F64:
        return 8;
    case MetaType::String:
    case MetaType::Array:
        return 0;
    }
    return 0;
}

Result<GgufHeader> readGgufHeader(std::span<const std::byte> file) { return HeaderReader(file).read(); }

} // namespace halftone
