// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/tiny_model.h"

#include "core/numeric/small_float.h"
#include "tests/support/fixtures.h"

#include <span>

namespace halftone::test {

namespace {

Fixture fixtureOf(const std::vector<TinyTensor>& tensors)
{
    Fixture fixture;
    for (const auto& t : tensors) {
        FixtureTensor made;
        made.name = t.name;
        made.shape = *Shape::checked(t.dims);
        ByteWriter bytes;
        for (const float v : t.values)
            bytes.put(floatToBfloat(v));
        made.bytes = std::move(bytes.out);
        fixture.tensors.push_back(std::move(made));
    }
    return fixture;
}

} // namespace

std::vector<TinyTensor> tinyLlama(std::int64_t ffn)
{
    std::vector<TinyTensor> all;
    for (const auto& t : makeFixture(FixtureKind::Tiny).tensors) {
        TinyTensor tiny{t.name, {t.shape.dims().begin(), t.shape.dims().end()}, {}};
        std::int64_t count = 1;
        for (auto& d : tiny.dims) {
            d = d == 172 ? ffn : d;
            count *= d;
        }
        if (tiny.dims.size() == 1)
            tiny.values.assign(static_cast<std::size_t>(count), 1.0f);
        else
            tiny.values = fixtureValues(t.name, count);
        all.push_back(std::move(tiny));
    }
    return all;
}

std::string tinySafetensors(const std::vector<TinyTensor>& tensors)
{
    const Bytes bytes = safetensorsBytes(fixtureOf(tensors).tensors);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::filesystem::path writeTinyModel(const std::filesystem::path& folder,
                                     const std::vector<TinyTensor>& tensors, std::int64_t ffn)
{
    Fixture fixture = fixtureOf(tensors);
    fixture.ffn = ffn;
    writeModel(fixture, folder);
    return folder;
}

void writeText(const std::filesystem::path& path, const std::string& text)
{
    writeBytes(path, std::as_bytes(std::span(text.data(), text.size())));
}

} // namespace halftone::test
