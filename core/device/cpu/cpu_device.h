// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/device/device.h"

namespace halftone::cpu {

/// Which kernels of an op a CPU device may take.
enum class Choice : std::uint8_t { Best, Reference };

/// A CPU device; two live for the whole program, behind cpuDevice() and referenceDevice().
std::unique_ptr<Device> makeDevice(Choice choice);

} // namespace halftone::cpu
