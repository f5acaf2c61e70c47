// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/io/weight_layout.h"

namespace halftone {

// The conventions, one object each.
const WeightLayout& packQuantizedLayout();
const WeightLayout& intQuantizedLayout();
const WeightLayout& floatQuantizedLayout();
const WeightLayout& mxfp8Layout();
const WeightLayout& mxfp4Layout();
const WeightLayout& nvfp4Layout();
const WeightLayout& gptqLayout(bool second);
const WeightLayout& awqLayout();
const WeightLayout& bitsAndBytesLayout();

/// "a.b" of "a.b.weight".
std::string moduleOf(std::string_view weight);
OutputTensor outputTensor(std::string name, const Shape& shape, DType dtype);
/// The codes of all rows without padding: the plane itself, or a copy in `buffer`.
std::span<const std::byte> bareCodes(const PackedTensor& planes, std::vector<std::byte>& buffer);
/// Bytes of a plane; none when the format lacks it.
std::span<const std::byte> planeBytes(const Tensor& plane);

/// The object of config.json for weights in one layout, all of one format.
Result<std::string> gptqConfig(std::span<const LaidOutWeight> weights, std::span<const std::string> ignored);
Result<std::string> awqConfig(std::span<const LaidOutWeight> weights, std::span<const std::string> ignored);
Result<std::string> bitsAndBytesConfig(std::span<const LaidOutWeight> weights,
                                       std::span<const std::string> ignored);

} // namespace halftone
