// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/job_file.h"

namespace halftone {

Result<std::shared_ptr<const Model>> openModel(const std::filesystem::path& path, OpenOptions options)
{
    HALFTONE_TRY(checkpoint, Checkpoint::open(path, options));
    HALFTONE_TRY(weights, WeightSet::of(checkpoint));
    return Model::read(weights);
}

} // namespace halftone
