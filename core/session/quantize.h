// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/io/writer.h"
#include "core/method/method.h"
#include "core/param/schema.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace halftone {

/// Parameters of every quantize run besides the method's own: which weights, what happens to those that
/// don't fit, tied head, overrides. Joined in front of the method's schema in forms, flags and jobs.
HALFTONE_API const ParamSchema& quantizeSchema();

/// What happens to one weight.
struct PlannedWeight {
    enum class Action : std::uint8_t { Quantize, Keep, Substitute };
    std::uint32_t weight = 0; ///< index into WeightSet::all()
    std::string name;         ///< in the output
    std::string id;           ///< stable; "head" for one made by untie
    Action action = Action::Keep;
    const BlockFormat* format = nullptr; ///< Quantize (and Substitute by another format)
    std::optional<DType> keptAs;         ///< Keep, Substitute by a plain type
    std::uint64_t bytesBefore = 0, bytesAfter = 0;
    std::uint64_t payloadBits = 0; ///< codes alone
    ParamList params;              ///< the method's, with overrides for this weight
};

/// A weight that can't take the format that was asked for.
struct Substitution {
    std::string name;
    int axis = 1; ///< of the matrix: 1 = columns
    std::int64_t length = 0, block = 0, remainder = 0;
    std::string wanted, replacement;
    std::uint64_t wantedBytes = 0, bytes = 0; ///< nominal cost and real cost
    std::uint64_t paddedBytes = 0;            ///< cost if the axis were padded to a multiple
    std::string text;                         ///< all of it on one line, with the remedy
};

/// All there is to know before any work; made from headers alone.
struct QuantizePlan {
    Container container = Container::Safetensors;
    bool folder = false; ///< the output is a folder with config.json and tokenizer beside the weights
    std::vector<PlannedWeight> weights;
    std::vector<Substitution> substitutions;
    std::vector<std::string> warnings;
    FileLayout layout;                                          ///< of the weights file
    std::vector<std::pair<std::string, std::string>> textFiles; ///< further files of a folder: name, content
    std::vector<std::filesystem::path>
        copiedFiles;               ///< files of the source that go into the folder as they are
    std::uint64_t outputBytes = 0; ///< exact size of the weights file
    std::int64_t weightCount = 0, quantizedCount = 0; ///< values, not tensors
    double bitsPerWeight = 0;        ///< tensor bytes of the output over all weights, with scales
    double payloadBitsPerWeight = 0; ///< codes alone for quantized weights
    double nominalBitsPerWeight = 0; ///< if nothing had been substituted
    std::uint64_t peakBytes = 0, diskBytes = 0;
    std::chrono::nanoseconds estimate{}; ///< wall time, from rates measured on this machine
};

struct QuantizeRequest {
    std::shared_ptr<const Model> model;
    std::shared_ptr<const QuantizeMethod> method; ///< null: nothing is quantized, see runConvert
    ParamList params;                             ///< of quantizeSchema() joined with the method's schema
    std::filesystem::path output;                 ///< .gguf, .safetensors, or a folder
    bool overwrite = false;
};

/// CheckFailed with fallback=error when a weight needs a substitution: all offenders in one error.
HALFTONE_API Result<QuantizePlan> planQuantize(const QuantizeRequest& request);
/// Writes, re-opens, verifies against what was encoded, renames; per-weight errors go to ctx.results
/// (table "weights"). A cancelled run leaves no file and its finished rows.
HALFTONE_API Status runQuantize(const QuantizeRequest& request, JobContext& ctx);
/// The same weights in another layout, code for code: runQuantize() without a method. Quantized weights that
/// the layout can't hold without loss are an error that names the reason.
HALFTONE_API Status runConvert(const QuantizeRequest& request, JobContext& ctx);
/// The plan as JSON text: one member a field.
HALFTONE_API std::string planJson(const QuantizePlan& plan);

} // namespace halftone
