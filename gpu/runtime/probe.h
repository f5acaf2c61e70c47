// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/device/device.h"

#include <vector>

namespace halftone::cuda {

/// One entry a GPU; one entry "cuda" with the reason when there is none.
std::vector<DeviceInfo> probeGpus();

} // namespace halftone::cuda
