// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/device/device.h"

#include <memory>

namespace halftone::cuda {

/// Opens GPU `index`; `info` is what probing said of it.
Result<std::shared_ptr<Device>> openGpu(int index, DeviceInfo info);

} // namespace halftone::cuda
