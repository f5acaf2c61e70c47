// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/device/ops.h"
#include "core/io/writer.h"
#include "core/job/job.h"
#include "core/model/model.h"
#include "core/session/plan.h"

#include <string>

namespace halftone {

/// The planes on the CPU, rows in the order of the output.
struct HostPlanes {
    PackedTensor packed;
    /// XXH3 over the planes as they are read back: what the check compares.
    std::string hash() const;
};

/// Brings planes from ctx.device to the host, moves their rows (movedHeads of `output`) and gives them the
/// form that the layout of `output` reads back.
Result<HostPlanes> hostPlanes(const PackedTensor& packed, const PlannedOutput& output, JobContext& ctx);

/// Writes the planes as the tensors of `output`: one in GGUF, those of its layout in safetensors.
Status writePlanes(CheckpointWriter& writer, const PlannedOutput& output, const HostPlanes& planes);

/// Writes a weight that is not quantized: its stored bytes, or its values in another type. Numeric when
/// a value does not fit that type, naming row, column and remedy.
Status writeKept(CheckpointWriter& writer, const PlannedOutput& output, const WeightSet& weights,
                 const WeightInfo& info, JobContext& ctx);

} // namespace halftone
