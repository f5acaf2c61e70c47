// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::test {

// Checkpoint bytes written from the formats' descriptions, without a line of the product's writers, so
// that an error there can't hide one in the readers. Nothing is checked: tests write broken files too.

using Bytes = std::vector<std::byte>;

class ByteWriter {
public:
    template <class T> ByteWriter& put(T value)
    {
        const auto bytes = std::as_bytes(std::span(&value, 1));
        out.insert(out.end(), bytes.begin(), bytes.end());
        return *this;
    }
    ByteWriter& text(std::string_view text);
    ByteWriter& bytes(std::span<const std::byte> bytes);
    /// 64-bit length, then the text, as GGUF has it.
    ByteWriter& ggufString(std::string_view text);
    /// Fills up with `fill` to a multiple of `step`.
    ByteWriter& pad(std::size_t step, char fill = 0);
    Bytes out;
};

/// Length, header text, data.
Bytes safetensorsBytes(std::string_view header, std::span<const std::byte> data);
/// The same with a length that need not be true.
Bytes safetensorsBytes(std::uint64_t length, std::string_view header, std::span<const std::byte> data);

/// A GGUF file piece by piece. Offsets follow from the payloads unless they are given.
class GgufBuilder {
public:
    GgufBuilder& text(std::string_view key, std::string_view value);
    GgufBuilder& u16(std::string_view key, std::uint16_t value);
    GgufBuilder& u32(std::string_view key, std::uint32_t value);
    GgufBuilder& i32(std::string_view key, std::int32_t value);
    GgufBuilder& f32(std::string_view key, float value);
    /// A value of any type with its own bytes behind the type number.
    GgufBuilder& raw(std::string_view key, std::uint32_t type, std::span<const std::byte> value);
    /// `dims` as the file has them, fastest first.
    GgufBuilder& tensor(std::string_view name, std::vector<std::uint64_t> dims, std::uint32_t type,
                        Bytes payload);
    /// A tensor information alone, at any offset.
    GgufBuilder& info(std::string_view name, std::vector<std::uint64_t> dims, std::uint32_t type,
                      std::uint64_t offset);
    Bytes finish() const;
    std::uint32_t version = 3;
    std::size_t alignment = 32;

private:
    std::uint64_t m_keys = 0, m_tensors = 0;
    ByteWriter m_meta, m_infos, m_data;
};

void writeBytes(const std::filesystem::path& path, std::span<const std::byte> bytes);
Bytes readBytes(const std::filesystem::path& path);
/// "3800" to two bytes; spaces are skipped.
Bytes fromHex(std::string_view hex);
std::string toHex(std::span<const std::byte> bytes);

} // namespace halftone::test
