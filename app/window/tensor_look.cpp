// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/tensor_panel.h"

#include "core/device/device.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace halftone {

namespace {

constexpr int kBins = 241;
constexpr int kBinsPerCode = 8;

/// Encodes rows one by one; scratch memory is kept between them.
class RowEncoder {
public:
    static Result<RowEncoder> make(const BlockFormat& format, std::int64_t cols)
    {
        HALFTONE_TRY(layout, format.layout(1, cols));
        RowEncoder out(format, cols);
        out.m_codes.resize(layout.codeBytes);
        out.m_scales.resize(layout.scaleBytes);
        out.m_zeros.resize(layout.zeroBytes);
        out.m_shared.resize(layout.sharedBytes);
        out.numbers.resize(static_cast<std::size_t>(cols));
        out.points.resize(static_cast<std::size_t>(cols));
        return out;
    }
    Status encode(std::span<const float> row, ValueRange range)
    {
        const PackedRows planes{m_codes, m_scales, m_zeros, m_shared};
        HALFTONE_CHECK(m_format->encodeRows(row, m_cols, range, planes));
        m_format->inspectRow(planes, m_cols, numbers, points);
        return Ok{};
    }
    std::vector<std::int32_t> numbers;
    std::vector<GridPoint> points;

private:
    RowEncoder(const BlockFormat& format, std::int64_t cols) : m_format(&format), m_cols(cols) {}
    const BlockFormat* m_format;
    std::int64_t m_cols;
    std::vector<std::byte> m_codes, m_scales, m_shared;
    std::vector<std::uint8_t> m_zeros;
};

} // namespace

Result<TensorLook> lookAt(const WeightSet& weights, const WeightInfo& info, const BlockFormat* format,
                          std::int64_t mostValues)
{
    TensorLook look;
    const std::int64_t rows = info.shape.rows();
    const std::int64_t cols = std::max<std::int64_t>(1, info.shape.cols());
    look.values = info.count();
    if (look.values == 0) return Error(Errc::InvalidArgument, "it holds no values").in("tensor " + info.name);
    const std::int64_t wanted = std::clamp<std::int64_t>(mostValues / cols, 1, rows);
    std::vector<float> all;
    ValueRange range;
    for (std::int64_t k = 0; k < wanted; ++k) {
        const std::int64_t row = k * rows / wanted; // spread over the whole weight, whatever its height
        HALFTONE_TRY(part, weights.loadRows(info, row, row + 1, DType::F32, cpuDevice(), {}));
        const auto values = std::as_const(part).values<float>();
        double sum = 0;
        double most = 0;
        for (const float v : values) {
            sum += static_cast<double>(v) * static_cast<double>(v);
            most = std::max(most, std::abs(static_cast<double>(v)));
        }
        look.rowIndex.push_back(static_cast<double>(row));
        look.rowMax.push_back(most);
        look.rowRms.push_back(std::sqrt(sum / static_cast<double>(cols)));
        range.merge(rangeOfRow(values));
        all.insert(all.end(), values.begin(), values.end());
    }
    weights.release(info);
    HALFTONE_CHECK(weights.intact(info));
    look.sampled = static_cast<std::int64_t>(all.size());
    double square = 0;
    float low = std::numeric_limits<float>::infinity();
    float high = -low;
    for (const float v : all) {
        if (!std::isfinite(v)) continue;
        low = std::min(low, v);
        high = std::max(high, v);
        square += static_cast<double>(v) * static_cast<double>(v);
    }
    if (!(high >= low)) return weights.placed(info, Error(Errc::Numeric, "no value is finite"));
    look.low = static_cast<double>(low);
    look.high = static_cast<double>(high);
    look.rms = std::sqrt(square / static_cast<double>(look.sampled));
    look.crest = look.rms > 0 ? std::max(std::abs(look.low), std::abs(look.high)) / look.rms : 0;

    std::vector<double> places;
    places.reserve(all.size());
    double first = look.low;
    double last = look.high;
    int bins = kBins;
    if (format != nullptr) {
        HALFTONE_TRY(encoder, RowEncoder::make(*format, cols));
        const bool uniform = format->desc().uniform;
        const std::vector<float> codeValues = format->codeValues(0);
        std::map<std::int32_t, std::int64_t> counts;
        std::int64_t zeros = 0;
        std::int32_t zeroPoint = 0;
        for (std::int64_t r = 0; r < wanted; ++r) {
            const std::span<const float> row(all.data() + r * cols, static_cast<std::size_t>(cols));
            if (auto done = encoder.encode(row, range); !done)
                return weights.placed(info, std::move(done).error());
            for (std::size_t i = 0; i < row.size(); ++i) {
                const GridPoint point = encoder.points[i];
                const std::int32_t code = encoder.numbers[i];
                ++counts[code];
                const bool zero =
                    uniform ? code == point.zero : codeValues[static_cast<std::size_t>(code)] == 0;
                zeros += zero ? 1 : 0;
                zeroPoint = point.zero;
                // Where the value lies among the codes of its own block, before rounding.
                if (point.scale != 0)
                    places.push_back((static_cast<double>(row[i]) - static_cast<double>(point.offset)) /
                                         static_cast<double>(point.scale) +
                                     point.zero);
            }
        }
        const auto total = static_cast<double>(look.sampled);
        for (const auto& [code, count] : counts) {
            const double p = static_cast<double>(count) / total;
            look.entropy -= p * std::log2(p);
        }
        look.zeroShare = static_cast<double>(zeros) / total;
        look.codeBits = format->payloadBits();
        for (const float value : format->codeValues(zeroPoint))
            if (std::isfinite(value)) look.codes.push_back(static_cast<double>(value) + zeroPoint);
        std::sort(look.codes.begin(), look.codes.end());
        if (places.empty() || look.codes.empty()) return look;
        first = look.codes.front() - 0.5;
        last = look.codes.back() + 0.5;
        for (const double p : places) {
            first = std::min(first, p);
            last = std::max(last, p);
        }
        bins = std::clamp(static_cast<int>((last - first) * kBinsPerCode), 64, 1024);
    } else {
        for (const float v : all)
            if (std::isfinite(v)) places.push_back(static_cast<double>(v));
    }
    if (last <= first) {
        first -= 0.5;
        last += 0.5;
    }
    look.binWidth = (last - first) / bins;
    look.counts.assign(static_cast<std::size_t>(bins), 0);
    for (int b = 0; b < bins; ++b)
        look.binCentres.push_back(first + (b + 0.5) * look.binWidth);
    for (const double p : places) {
        const int bin = std::clamp(static_cast<int>((p - first) / look.binWidth), 0, bins - 1);
        look.counts[static_cast<std::size_t>(bin)] += 1;
    }
    return look;
}

} // namespace halftone
