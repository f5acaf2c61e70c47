// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/rng.h"
#include "core/result/writer.h"

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace halftone::test {

inline Provenance sampleProvenance()
{
    Provenance p;
    p.methodId = "rtn";
    p.methodVersion = 3;
    p.checkpointPath = "/models/a b/modèle.gguf";
    p.checkpointHash = "0123456789abcdef0123456789abcdef";
    p.device = "cpu";
    p.programVersion = "0.1.0";
    p.created = "2024-05-01T12:00:00Z";
    p.seed = 0xFFFFFFFFFFFFFFFFu;
    p.threads = 2;
    p.params = {{"bits", std::int64_t{4}},
                {"damping", 0.1},
                {"symmetric", true},
                {"granularity", std::string("group")},
                {"note", std::string()}};
    return p;
}

inline TableSchema sampleSchema()
{
    return {"weights",
            "One row a weight.",
            {{"name", Column::Type::Name, "", "Name of the weight."},
             {"bytes", Column::Type::Integer, "B", "Bytes in the output."},
             {"sqnr_db", Column::Type::Real, "dB", "Signal to noise ratio."},
             {"class", Column::Type::Name, "", "Role class."}}};
}

inline FigureSpec sampleFigure()
{
    FigureSpec f;
    f.id = "sqnr/by weight";
    f.title = "Signal to noise";
    f.kind = "bars";
    f.x = {"Weight", "", false};
    f.y = {"SQNR", "dB", true};
    Trace t;
    t.label = "SQNR";
    t.table = "weights";
    t.x = "name";
    t.y = "sqnr_db";
    t.text = "name";
    t.mark = Trace::Mark::Bars;
    t.where = "class";
    t.is = "ffn";
    t.hull = true;
    f.traces = {t};
    f.caption = "Higher is better: \"quoted\" < & ü.";
    return f;
}

/// Fills `rows` rows, an array, a figure and two log lines; the same values each time.
inline Status fillSample(ResultWriter& out, std::int64_t rows)
{
    HALFTONE_TRY(table, out.table(sampleSchema()));
    SplitMix64 rng(1);
    for (std::int64_t i = 0; i < rows; ++i) {
        const std::array row{table->nameId(0, "layers." + std::to_string(i % 1000) + ".w"),
                             static_cast<double>(rng.next() >> 20),
                             i % 97 == 5 ? std::numeric_limits<double>::quiet_NaN() : rng.uniform() * 40,
                             table->nameId(3, i % 2 == 0 ? "ffn" : "attention")};
        HALFTONE_CHECK(table->append(row));
    }
    std::vector<float> values(2 * 3 * 5);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i) * 0.25f;
    const std::array<std::int64_t, 3> dims{2, 3, 5};
    HALFTONE_CHECK(out.array("hessian/layer 0", dims, values, "1", "Diagonal."));
    HALFTONE_CHECK(out.figure(sampleFigure()));
    HALFTONE_CHECK(out.line(LogLevel::Info, "started"));
    return out.line(LogLevel::Warning, "two\tparts, ü");
}

} // namespace halftone::test
