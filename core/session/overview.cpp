// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/job_file.h"

#include "core/base/text.h"

#include <array>
#include <fmt/format.h>
#include <map>

namespace halftone {

namespace {

using Type = Column::Type;

TableSchema tensorSchema()
{
    return {"tensors",
            "The weights of the checkpoint, as they are stored.",
            {{"name", Type::Name, "", "Name of the weight."},
             {"id", Type::Name, "", "Stable id, independent of container and sharding."},
             {"layer", Type::Integer, "", "Layer, or -1."},
             {"class", Type::Name, "", "Class of its role in the network."},
             {"type", Type::Name, "", "How it is stored."},
             {"elements", Type::Integer, "", "Number of values."},
             {"bytes", Type::Integer, "B", "Bytes of all its parts."},
             {"bits_per_weight", Type::Real, "bit", "8 bytes / elements."}}};
}

TableSchema layerSchema()
{
    return {"layers",
            "Sums by layer; -1 holds what belongs to no layer.",
            {{"layer", Type::Integer, "", "Layer, or -1."},
             {"tensors", Type::Integer, "", "Number of weights."},
             {"elements", Type::Integer, "", "Number of values."},
             {"bytes", Type::Integer, "B", "Bytes of all weights of the layer."},
             {"bits_per_weight", Type::Real, "bit", "8 bytes / elements."}}};
}

struct LayerSum {
    std::int64_t tensors = 0, elements = 0;
    std::uint64_t bytes = 0;
};

double bitsOf(std::uint64_t bytes, std::int64_t elements)
{
    return elements == 0 ? 0 : 8.0 * static_cast<double>(bytes) / static_cast<double>(elements);
}

FigureSpec treemapFigure(const Model& model)
{
    FigureSpec f;
    f.id = "size_treemap";
    f.title = "Where the bytes are";
    f.kind = "treemap";
    f.x = {"Size", "B", false};
    Trace t;
    t.table = "tensors";
    t.x = "bytes";
    t.y = "bytes";
    t.z = "class";
    t.text = "name";
    t.mark = Trace::Mark::Rectangles;
    f.traces.push_back(t);
    f.caption = model.summary();
    return f;
}

FigureSpec layerFigure(const std::map<int, LayerSum>& layers)
{
    FigureSpec f;
    f.id = "bytes_by_layer";
    f.title = "Size by layer";
    f.kind = "bars";
    f.x = {"Layer", "", false};
    f.y = {"Size", "B", false};
    Trace t;
    t.label = "Bytes";
    t.table = "layers";
    t.x = "layer";
    t.y = "bytes";
    t.mark = Trace::Mark::Bars;
    f.traces.push_back(t);
    const auto outside = layers.find(-1);
    std::uint64_t all = 0;
    for (const auto& [layer, sum] : layers)
        all += sum.bytes;
    const std::uint64_t rest = outside == layers.end() ? 0 : outside->second.bytes;
    f.caption =
        fmt::format("{} in all; {} belong to no layer (embedding, head, last norm; shown as layer -1).",
                    humanBytes(all), humanBytes(rest));
    return f;
}

} // namespace

Status runOverview(const Model& model, JobContext& ctx)
{
    const auto all = model.weights()->all();
    HALFTONE_TRY(table, ctx.results.table(tensorSchema()));
    ctx.progress.enter("Overview", static_cast<std::int64_t>(all.size()));
    std::map<int, LayerSum> layers;
    for (const auto& role : model.roles()) {
        HALFTONE_CHECK(ctx.checkpoint());
        const auto& info = all[role.weight];
        const std::array row{table->nameId(0, info.name),     table->nameId(1, role.id),
                             static_cast<double>(role.layer), table->nameId(3, nameOf(role.roleClass)),
                             table->nameId(4, info.type),     static_cast<double>(info.count()),
                             static_cast<double>(info.bytes), info.bitsPerWeight()};
        HALFTONE_CHECK(table->append(row));
        auto& sum = layers[role.layer];
        ++sum.tensors;
        sum.elements += info.count();
        sum.bytes += info.bytes;
        ctx.progress.advance();
    }
    HALFTONE_TRY(byLayer, ctx.results.table(layerSchema()));
    for (const auto& [layer, sum] : layers) {
        const std::array row{static_cast<double>(layer), static_cast<double>(sum.tensors),
                             static_cast<double>(sum.elements), static_cast<double>(sum.bytes),
                             bitsOf(sum.bytes, sum.elements)};
        HALFTONE_CHECK(byLayer->append(row));
    }
    HALFTONE_CHECK(ctx.results.line(LogLevel::Info, model.summary()));
    for (const auto& issue : model.weights()->checkpoint()->issues())
        HALFTONE_CHECK(ctx.results.line(
            issue.severity == CheckpointIssue::Severity::Error ? LogLevel::Error : LogLevel::Warning,
            issue.text));
    HALFTONE_CHECK(ctx.results.figure(treemapFigure(model)));
    return ctx.results.figure(layerFigure(layers));
}

} // namespace halftone
