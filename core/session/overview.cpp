// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/job_file.h"

#include "core/base/text.h"
#include "core/method/weight_columns.h"

#include <array>
#include <fmt/format.h>
#include <map>

namespace halftone {

namespace {

using Type = Column::Type;

TableSchema tensorSchema()
{
    return {"tensors", "The weights of the checkpoint, as they are stored.",
            joinColumns({weightColumns(),
                         {{"type", Type::Name, "", "How it is stored."},
                          {"elements", Type::Integer, "", "Number of values."},
                          {"bytes", Type::Integer, "B", "Bytes of all its parts."},
                          {"bits_per_weight", Type::Real, "bit", "8 bytes / elements."}}})};
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
    return {.id = "size_treemap",
            .title = "Where the bytes are",
            .kind = "treemap",
            .x = {"Size", "B"},
            .traces = {{.table = "tensors",
                        .x = "bytes",
                        .y = "bytes",
                        .z = "class",
                        .text = "name",
                        .mark = Trace::Mark::Rectangles}},
            .caption = model.summary()};
}

FigureSpec layerFigure(const std::map<int, LayerSum>& layers)
{
    const auto outside = layers.find(-1);
    std::uint64_t all = 0;
    for (const auto& [layer, sum] : layers)
        all += sum.bytes;
    const std::uint64_t rest = outside == layers.end() ? 0 : outside->second.bytes;
    return {
        .id = "bytes_by_layer",
        .title = "Size by layer",
        .kind = "bars",
        .x = {"Layer"},
        .y = {"Size", "B"},
        .traces =
            {{.label = "Bytes", .table = "layers", .x = "layer", .y = "bytes", .mark = Trace::Mark::Bars}},
        .caption =
            fmt::format("{} in all; {} belong to no layer (embedding, head, last norm; shown as layer -1).",
                        humanBytes(all), humanBytes(rest))};
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
        HALFTONE_CHECK(TableRow(*table)
                           .weight(info.name, role)
                           .name(info.type)
                           .number(info.count())
                           .number(static_cast<double>(info.bytes))
                           .number(info.bitsPerWeight())
                           .append());
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
