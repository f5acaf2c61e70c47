// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/numeric/hd.h"

#include <cmath>
#include <cstdint>

namespace halftone {

// The two 4-bit codes of bitsandbytes: values relative to the largest magnitude of a block, and the
// thresholds between them with which its CUDA kernels encode. A value on a threshold takes the lower code.

/// Quantiles of a normal distribution; code 7 is 0 (Dettmers et al., QLoRA, 2023).
HALFTONE_HD float nf4Value(std::int32_t code)
{
    static constexpr float kValues[16]{
        -1.0f,
        -0.6961928009986877f,
        -0.5250730514526367f,
        -0.39491748809814453f,
        -0.28444138169288635f,
        -0.18477343022823334f,
        -0.09105003625154495f,
        0.0f,
        0.07958029955625534f,
        0.16093020141124725f,
        0.24611230194568634f,
        0.33791524171829224f,
        0.44070982933044434f,
        0.5626170039176941f,
        0.7229568362236023f,
        1.0f,
    };
    return kValues[code & 15];
}

/// Threshold between the codes k and k + 1, 0 <= k < 15.
HALFTONE_HD float nf4Threshold(std::int32_t k)
{
    static constexpr float kThresholds[15]{
        -0.8480964004993439f,  -0.6106329262256622f,  -0.4599952697753906f,   -0.33967943489551544f,
        -0.23460740596055984f, -0.13791173323988914f, -0.045525018125772476f, 0.03979014977812767f,
        0.1202552504837513f,   0.2035212516784668f,   0.2920137718319893f,    0.3893125355243683f,
        0.5016634166240692f,   0.6427869200706482f,   0.8614784181118011f,
    };
    return kThresholds[k];
}

HALFTONE_HD std::int32_t nf4Code(float t)
{
    // Bisection: 8, 4, 2 and 1 codes up when t lies above the threshold there.
    std::int32_t code = 0;
    for (std::int32_t step = 8; step > 0; step /= 2)
        if (t > nf4Threshold(code + step - 1)) code += step;
    return code;
}

/// Sign and magnitude; the magnitudes do not ascend with their codes.
HALFTONE_HD float bnbFp4Value(std::int32_t code)
{
    static constexpr float kMagnitudes[8]{0.0f,        5.208333333e-03f, 0.66666667f, 1.0f,
                                          0.33333333f, 0.50000000f,      0.16666667f, 0.25f};
    const float magnitude = kMagnitudes[code & 7];
    return (code & 8) != 0 ? -magnitude : magnitude;
}

/// Threshold below the (k + 1)-th magnitude from 0 on, 0 <= k < 7.
HALFTONE_HD float bnbFp4Threshold(std::int32_t k)
{
    static constexpr float kThresholds[7]{0.00260417f, 0.0859375f, 0.20833333f, 0.29166667f,
                                          0.4166667f,  0.583333f,  0.8333333f};
    return kThresholds[k];
}

/// Code of the k-th magnitude from 0 on.
HALFTONE_HD std::int32_t bnbFp4CodeAt(std::int32_t k)
{
    static constexpr std::uint8_t kCodes[8]{0, 1, 6, 7, 4, 5, 2, 3};
    return kCodes[k];
}

HALFTONE_HD std::int32_t bnbFp4Code(float t)
{
    const float a = fabsf(t);
    std::int32_t k = 0;
    while (k < 7 && a > bnbFp4Threshold(k))
        ++k;
    return bnbFp4CodeAt(k) + (t < 0 ? 8 : 0);
}

} // namespace halftone
