// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/device/ops.h"

#include <span>

namespace halftone::cpu {

/// One way to run an op on the CPU. The device has already checked the op's shapes, dtypes and that the
/// host can address its tensors, so `run` only computes; a kernel that meets a shape it has no fast way
/// for calls the reference itself. Every kernel of an op gives the same bytes for packed codes.
template <class Op> struct Kernel {
    const char* name; ///< "reference", "simd", "onednn": for the support table and the log
    /// The dtype and format as in Device::supports().
    bool (*supports)(DType dtype, const BlockFormat* format);
    Status (*run)(const Op& op);
};

/// The kernels of an op, best first, the plain reference last: explicit lists in kernels.cpp, so that
/// the order is read in one place and no static initialiser is needed.
template <class Op> std::span<const Kernel<Op>> kernelsOf();

#define X(name)                                                                                              \
    template <> std::span<const Kernel<name##Op>> kernelsOf<name##Op>();                                     \
    /** The plain reference of the op: scalar code, what all other kernels are compared with. */             \
    Status reference##name(const name##Op& op);                                                              \
    bool referenceSupports##name(DType dtype, const BlockFormat* format);
HALFTONE_OPS(X)
#undef X

} // namespace halftone::cpu
