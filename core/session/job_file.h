// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/method/method.h"
#include "core/session/quantize.h"
#include "core/session/sweep.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace halftone {

/// A job file (JSON with // comments), checked. One schema for window and batch.
/// {"halftone-job": 1, "model": "PATH", "seed": 0, "steps": [ {"do": "overview"},
///  {"do": "analyse", "method": "block_error", "set": {...}, "tensors": ["glob"]},
///  {"do": "sweep", "points": [{"method": "rtn", "set": {"bits": {"from": 2, "to": 8}}}]},
///  {"do": "quantize", "method": "rtn", "set": {...}, "output": "PATH"} ]}
/// Paths are relative to the job file's folder; outputs to the folder given at run time.
struct JobStep {
    enum class Do : std::uint8_t { Overview, Analyse, Sweep, Quantize, Verify } what = Do::Overview;
    std::shared_ptr<const Method> method; ///< Analyse, Quantize
    ParamList params;                     ///< complete
    std::vector<std::string> tensors;     ///< globs over names and ids; empty: all
    std::vector<SweepPoint> points;       ///< Sweep, expanded
    std::string output, against;          ///< Quantize; Verify
};
struct JobFile {
    std::filesystem::path model;
    std::uint64_t seed = 0;
    std::vector<JobStep> steps;
    std::string text;       ///< as read, for provenance
    bool overwrite = false; ///< outputs that exist are replaced; not in the file, a person says so
};

/// All problems at once, each with its line and key. Never throws.
HALFTONE_API Result<JobFile> parseJobFile(std::string_view text, const std::filesystem::path& folder,
                                          const MethodRegistry& methods);
/// Runs all steps in order with one weighted progress; everything goes to ctx.results.
HALFTONE_API Status runJobFile(const JobFile& job, std::shared_ptr<const Model> model,
                               const std::filesystem::path& outputFolder, JobContext& ctx);
/// The JSON Schema of job files over all known methods.
HALFTONE_API std::string jobSchemaJson(const MethodRegistry& methods);
/// A job file of one step, as the window's "copy as job" gives it.
HALFTONE_API std::string jobText(const std::string& modelPath, const JobStep& step);

/// Indices of the weights whose name or id matches any of the globs, in file order; empty for no globs.
/// NotFound names a glob that matches nothing.
HALFTONE_API Result<std::vector<std::uint32_t>> matchWeights(const Model& model,
                                                             const std::vector<std::string>& globs);

/// Opens a checkpoint as a model: Checkpoint, WeightSet, Model in one call.
HALFTONE_API Result<std::shared_ptr<const Model>> openModel(const std::filesystem::path& path,
                                                            OpenOptions options = {});
/// Table "tensors" (name, id, layer, class, type, elements, bytes, bits a weight) and figures
/// "size_treemap" and "bytes_by_layer"; reads headers only.
HALFTONE_API Status runOverview(const Model& model, JobContext& ctx);

} // namespace halftone
