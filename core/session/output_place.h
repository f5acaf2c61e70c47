// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/session/plan.h"

#include <filesystem>
#include <memory>

namespace halftone {

/// Where a run writes. For a folder, everything is made in a temporary folder beside it, so that nothing
/// is under the final name before it is verified; the temporary folder goes away with this object.
class OutputPlace {
public:
    /// All that can be refused before any work: no output, an output that is the input, one that exists
    /// (unless `overwrite`), a folder that is missing or holds other weights, too little space
    /// ("output folder full: need X, free Y").
    static Result<std::unique_ptr<OutputPlace>> prepare(const QuantizeRequest& request,
                                                        const OutputPlan& plan);
    ~OutputPlace();
    OutputPlace(const OutputPlace&) = delete;
    OutputPlace& operator=(const OutputPlace&) = delete;
    /// Where the weights are written to; for a file its final name.
    const std::filesystem::path& weightsFile() const { return m_weights; }
    /// Folder only: writes the text files and copies the sidecars.
    Status writeOthers(const QuantizePlan& plan);
    /// Folder only: gives everything its final name.
    Status commit();

private:
    OutputPlace() = default;
    std::filesystem::path m_weights, m_temporary, m_final;
};

} // namespace halftone
