// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/numeric/double_quant.h"

#include "core/numeric/int_grid.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace halftone {

namespace {

// Step i of `count` from 0.1 to 1 as float arithmetic spaces them: from both ends to the middle.
float boundary(int i, int count)
{
    const float step = (1.0f - 0.1f) / static_cast<float>(count - 1);
    return i < count / 2 ? 0.1f + step * static_cast<float>(i)
                         : 1.0f - step * static_cast<float>(count - 1 - i);
}

std::array<float, 256> makeMap()
{
    constexpr int kDecades = 7;
    constexpr float kUnits[kDecades]{1e-6f, 1e-5f, 1e-4f, 1e-3f, 1e-2f, 1e-1f, 1.0f};
    std::array<float, 256> map{};
    std::size_t n = 0;
    for (int decade = 0; decade < kDecades; ++decade) {
        const int steps = 1 << decade;
        for (int i = 0; i < steps; ++i) {
            const float mean = (boundary(i, steps + 1) + boundary(i + 1, steps + 1)) / 2.0f;
            map[n++] = kUnits[decade] * mean;
            map[n++] = -kUnits[decade] * mean;
        }
    }
    map[n++] = 0.0f;
    map[n++] = 1.0f;
    std::ranges::sort(map);
    return map;
}

float sharedFloat(std::span<const std::byte> shared, std::size_t index)
{
    float value;
    std::memcpy(&value, shared.data() + index * sizeof value, sizeof value);
    return value;
}

} // namespace

const std::array<float, 256>& dynamicMap()
{
    static const std::array<float, 256> map = makeMap();
    return map;
}

std::uint8_t dynamicCode(float x)
{
    const auto& map = dynamicMap();
    // The first value that is not below x; then whichever of it and the one below is nearer.
    const auto at = std::ranges::lower_bound(map, x);
    if (at == map.begin()) return 0;
    if (at == map.end()) return 255;
    const auto code = static_cast<std::uint8_t>(at - map.begin());
    const float middle = (map[code] + map[code - 1u]) * 0.5f;
    return x > middle ? code : static_cast<std::uint8_t>(code - 1);
}

void makeNested(std::span<const float> scales, std::span<float> out)
{
    double sum = 0;
    for (const float s : scales)
        sum += static_cast<double>(s);
    const float mean = scales.empty() ? 0.0f : static_cast<float>(sum / static_cast<double>(scales.size()));
    out[0] = mean;
    for (std::size_t run = 1; run < out.size(); ++run) {
        const std::size_t begin = (run - 1) * kNestedBlock;
        float peak = 0;
        for (const float s :
             scales.subspan(begin, std::min<std::size_t>(kNestedBlock, scales.size() - begin)))
            peak = std::max(peak, std::fabs(s - mean));
        out[run] = peak;
    }
}

std::uint8_t nestedCode(float scale, float mean, float runScale)
{
    return dynamicCode((scale - mean) * inverseOf(runScale));
}

float nestedScale(std::uint8_t code, float mean, float runScale)
{
    return nestedValue(dynamicMap()[code], mean, runScale);
}

void nestScales(std::span<const float> scales, std::span<const std::byte> shared, std::size_t first,
                std::span<std::byte> codes)
{
    const float mean = sharedFloat(shared, 0);
    for (std::size_t i = 0; i < scales.size(); ++i)
        codes[i] = std::byte{
            nestedCode(scales[i], mean, sharedFloat(shared, 1 + (first + i) / std::size_t{kNestedBlock}))};
}

void unnestScales(std::span<const std::byte> codes, std::span<const std::byte> shared, std::size_t first,
                  std::span<float> scales)
{
    const float mean = sharedFloat(shared, 0);
    for (std::size_t i = 0; i < scales.size(); ++i)
        scales[i] = nestedScale(std::to_integer<std::uint8_t>(codes[i]), mean,
                                sharedFloat(shared, 1 + (first + i) / std::size_t{kNestedBlock}));
}

} // namespace halftone
