// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/device/device.h"

#include <memory>
#include <string>
#include <vector>

namespace halftone::test {

/// One point of list x dtype x format.
struct Case {
    OpId op;
    DType dtype;
    const BlockFormat* format = nullptr; ///< block ops only
    std::string name() const;
};

/// Every op with every dtype and, for the block ops, every listed format and some odd ones.
std::vector<Case> allCases();

/// The devices of this machine that can be used: the CPU with its best kernels, then the others.
std::vector<std::shared_ptr<Device>> usableDevices();

/// The same tensor in the device's memory; itself where the host's memory is the device's.
Result<Tensor> onDevice(Device& device, const Tensor& host);
Result<PackedTensor> onDevice(Device& device, const PackedTensor& host);

/// Rows of many kinds in turn: normal, zeros, one outlier, denormals, 1e-11, flat, ramp, Laplace.
Tensor mixedMatrix(DType dtype, const Shape& shape);
/// Any bit patterns.
Tensor randomBits(DType dtype, const Shape& shape);

/// Runs the case on the device and on the reference over several shapes and compares. An error tells the
/// difference; CheckFailed when the results differ.
Status compareWithReference(Device& device, const Case& what);
/// Runs the case once, small: what run() says, for the comparison with supports().
Status runOnce(Device& device, const Case& what);

/// Prints time and speed against the reference of all cases whose name matches the pattern.
int printPerformance(const std::string& pattern);
/// Prints which device supports what.
int printSupport();

} // namespace halftone::test
