// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/io/weights.h"
#include "core/numeric/small_float.h"
#include "tests/support/main.h"
#include "tests/support/packed_files.h"
#include "tests/support/temp_dir.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace halftone::test {

inline const std::string kModule = "model.layers.0.mlp.up_proj";

/// A checkpoint of these tensors with this object as quantization_config, or as a file of its own.
inline Result<std::shared_ptr<const WeightSet>> openPacked(const TempDir& dir,
                                                           const std::vector<FixtureTensor>& tensors,
                                                           const std::string& quantization,
                                                           const char* file = "config.json")
{
    writeBytes(dir / "model.safetensors", safetensorsBytes(tensors));
    const std::string text = std::string(file) == "config.json"
                                 ? R"({"model_type":"llama","quantization_config":)" + quantization + "}"
                                 : quantization;
    if (!quantization.empty()) writeBytes(dir / file, std::as_bytes(std::span(text.data(), text.size())));
    HALFTONE_TRY(checkpoint, Checkpoint::open(dir / "model.safetensors"));
    return WeightSet::of(checkpoint);
}

/// Fails the test unless all rows, some rows and one row in BF16 have these values.
inline void compareValues(const WeightSet& set, const std::string& name, const std::vector<float>& expected,
                          std::int64_t rows)
{
    const auto* w = set.find(name);
    QVERIFY(w != nullptr);
    QVERIFY2(w->whyOpaque.empty(), w->whyOpaque.c_str());
    QCOMPARE(w->shape.rows(), rows);
    const auto cols = static_cast<std::size_t>(w->shape.cols());
    const auto all = set.source(*w, cpuDevice(), {});
    HALFTONE_VERIFY(all);
    QVERIFY(all->dtype() == DType::F32);
    const auto values = std::as_const(*all).values<float>();
    QCOMPARE(values.size(), expected.size());
    const auto differs = std::ranges::mismatch(values, expected);
    if (differs.in1 != values.end())
        QFAIL(("element " + std::to_string(differs.in1 - values.begin()) + " is " +
               std::to_string(*differs.in1) + ", not " + std::to_string(*differs.in2))
                  .c_str());
    const std::int64_t begin = rows / 3, end = rows - rows / 4;
    const auto some = set.loadRows(*w, begin, end, DType::F32, cpuDevice(), {});
    HALFTONE_VERIFY(some);
    QVERIFY(std::ranges::equal(std::as_const(*some).values<float>(),
                               std::span(expected).subspan(static_cast<std::size_t>(begin) * cols,
                                                           static_cast<std::size_t>(end - begin) * cols)));
    const auto half = set.loadRows(*w, 0, 1, DType::BF16, cpuDevice(), {});
    HALFTONE_VERIFY(half);
    std::uint16_t first = 0;
    std::memcpy(&first, half->bytes().data(), 2);
    QCOMPARE(first, floatToBfloat(expected[0]));
    QVERIFY(!set.loadRows(*w, 0, rows + 1, DType::F32, cpuDevice(), {}));
    QVERIFY(set.find(kModule + ".qweight") == nullptr);
}

} // namespace halftone::test
