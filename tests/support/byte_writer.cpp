// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/byte_writer.h"

#include <fstream>
#include <iterator>

namespace halftone::test {

ByteWriter& ByteWriter::text(std::string_view text)
{
    return bytes(std::as_bytes(std::span(text.data(), text.size())));
}

ByteWriter& ByteWriter::bytes(std::span<const std::byte> bytes)
{
    out.insert(out.end(), bytes.begin(), bytes.end());
    return *this;
}

ByteWriter& ByteWriter::ggufString(std::string_view text)
{
    return put(static_cast<std::uint64_t>(text.size())).text(text);
}

ByteWriter& ByteWriter::pad(std::size_t step, char fill)
{
    while (out.size() % step != 0)
        out.push_back(static_cast<std::byte>(fill));
    return *this;
}

Bytes safetensorsBytes(std::uint64_t length, std::string_view header, std::span<const std::byte> data)
{
    ByteWriter w;
    w.put(length).text(header).bytes(data);
    return w.out;
}

Bytes safetensorsBytes(std::string_view header, std::span<const std::byte> data)
{
    return safetensorsBytes(header.size(), header, data);
}

GgufBuilder& GgufBuilder::raw(std::string_view key, std::uint32_t type, std::span<const std::byte> value)
{
    m_meta.ggufString(key).put(type).bytes(value);
    ++m_keys;
    return *this;
}

GgufBuilder& GgufBuilder::text(std::string_view key, std::string_view value)
{
    return raw(key, 8, ByteWriter().ggufString(value).out);
}

GgufBuilder& GgufBuilder::u16(std::string_view key, std::uint16_t value)
{
    return raw(key, 2, ByteWriter().put(value).out);
}

GgufBuilder& GgufBuilder::u32(std::string_view key, std::uint32_t value)
{
    return raw(key, 4, ByteWriter().put(value).out);
}

GgufBuilder& GgufBuilder::i32(std::string_view key, std::int32_t value)
{
    return raw(key, 5, ByteWriter().put(value).out);
}

GgufBuilder& GgufBuilder::f32(std::string_view key, float value)
{
    return raw(key, 6, ByteWriter().put(value).out);
}

GgufBuilder& GgufBuilder::info(std::string_view name, std::vector<std::uint64_t> dims, std::uint32_t type,
                               std::uint64_t offset)
{
    m_infos.ggufString(name).put(static_cast<std::uint32_t>(dims.size()));
    for (const auto d : dims)
        m_infos.put(d);
    m_infos.put(type).put(offset);
    ++m_tensors;
    return *this;
}

GgufBuilder& GgufBuilder::tensor(std::string_view name, std::vector<std::uint64_t> dims, std::uint32_t type,
                                 Bytes payload)
{
    info(name, std::move(dims), type, m_data.out.size());
    m_data.bytes(payload).pad(alignment);
    return *this;
}

Bytes GgufBuilder::finish() const
{
    ByteWriter w;
    w.text("GGUF").put(version).put(m_tensors).put(m_keys);
    w.bytes(m_meta.out).bytes(m_infos.out).pad(alignment).bytes(m_data.out);
    return w.out;
}

void writeBytes(const std::filesystem::path& path, std::span<const std::byte> bytes)
{
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

Bytes readBytes(const std::filesystem::path& path)
{
    std::ifstream in(path, std::ios::binary);
    const std::string all(std::istreambuf_iterator<char>(in), {});
    const auto bytes = std::as_bytes(std::span(all.data(), all.size()));
    return {bytes.begin(), bytes.end()};
}

Bytes fromHex(std::string_view hex)
{
    const auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
    std::string digits(hex);
    std::erase(digits, ' ');
    Bytes out;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        out.push_back(static_cast<std::byte>(digit(digits[i]) * 16 + digit(digits[i + 1])));
    return out;
}

std::string toHex(std::span<const std::byte> bytes)
{
    constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    for (const auto b : bytes) {
        out += kDigits[static_cast<unsigned>(b) >> 4];
        out += kDigits[static_cast<unsigned>(b) & 15u];
    }
    return out;
}

} // namespace halftone::test
