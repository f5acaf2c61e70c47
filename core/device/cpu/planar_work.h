// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/checked.h"
#include "core/device/cpu/parallel.h"
#include "core/device/cpu/simd_elements.h"
#include "core/device/cpu/simd_int_grid.h"
#include "core/numeric/block_format.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

namespace halftone::cpu {

// How the vector kernels of planar formats share a matrix among threads: Job says what a span is.

inline constexpr std::int64_t kPieceColumns = 16384;   ///< of a line that several threads share
inline constexpr std::int64_t kLargeGroup = 4 * 65536; ///< from here on, threads share one group

inline int threadsFor(std::int64_t elements) { return elements < kSerialElements ? 1 : threadCount(); }

/// Runs body(begin, end) on equal parts of [0, items), one a thread.
template <class Body> void forParts(std::int64_t items, int threads, Body&& body)
{
    const std::int64_t parts = std::min<std::int64_t>(items, threads);
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(parts)) if (parts > 1)
    for (std::int64_t part = 0; part < parts; ++part) {
        // items * part may not fit: the quotient and the remainder are shared out apart.
        const std::int64_t each = items / parts, rest = items % parts;
        const std::int64_t begin = each * part + std::min(part, rest);
        body(begin, begin + each + (part < rest ? 1 : 0));
    }
}

/// A matrix as lines whose codes are contiguous. When no row ends in a short group or in padding, the
/// whole matrix is one line.
struct Lines {
    std::int64_t count = 0, cols = 0, group = 0;
    std::uint64_t codeBytes = 0, scaleBytes = 0, zeroBytes = 0; ///< of a line
    std::int64_t groups() const { return ceilDiv(cols, group); }
};

inline Lines linesOf(const FormatDesc& desc, const PackedLayout& layout)
{
    const bool whole = desc.blockSize < 0;
    const std::int64_t group = whole ? layout.cols : std::min(desc.blockSize, layout.cols);
    const auto rowBits = layout.codeRowBytes * 8;
    const bool padded = rowBits != static_cast<std::uint64_t>(layout.cols) * desc.bits;
    Lines lines{layout.rows,         layout.cols,          group,
                layout.codeRowBytes, layout.scaleRowBytes, layout.zeroRowBytes};
    if (padded || layout.cols % group != 0) return lines;
    const auto rows = static_cast<std::uint64_t>(layout.rows);
    return {1,
            layout.rows * layout.cols,
            group,
            rows * lines.codeBytes,
            rows * lines.scaleBytes,
            rows * lines.zeroBytes};
}

/// Columns of a line that one thread takes at a time: whole groups that end at a whole word of codes. A
/// group size that seldom meets such a word keeps the line in one piece.
inline std::int64_t pieceOf(const Lines& lines)
{
    const std::int64_t step = std::lcm(lines.group, std::int64_t{32});
    if (step > std::max(kLargeGroup, lines.group)) return lines.cols;
    return std::max<std::int64_t>(kPieceColumns / step, 1) * step;
}

inline GridPoint pointOf(const GridJob& job, float min, float max)
{
    return gridOf(min, max, job.rule, job.bits, job.scale);
}
inline GridPoint pointOf(const ElementJob& job, float min, float max)
{
    const float peak = std::max(-min, max);
    return {peak == 0.0f ? 1.0f : roundScale(peak / largestOf(job.element, job.bits), job.scale), 0, 0.0f};
}

/// Groups whose codes several threads may make once the scale is known.
inline bool canShareGroups(const GridJob&) { return true; }
inline bool canShareGroups(const ElementJob& job) { return job.family == FormatDesc::Family::Scaled; }

/// One op on a planar format, with the places of its bytes.
template <class Job> class GridWork {
public:
    GridWork(Job job, DType dtype, const std::byte* in, GridPlanes out, Lines lines, int threads)
        : m_job(job), m_dtype(dtype), m_in(in), m_out(out), m_lines(lines), m_threads(threads),
          m_width(bitsOf(dtype) / 8)
    {
    }

    /// False when the reference must say what is wrong.
    bool run(bool oneScale)
    {
        if (oneScale) return runShared(0, m_lines.count * m_lines.cols, m_out.scales, m_out.zeros);
        if (canShareGroups(m_job) && m_lines.group >= kLargeGroup &&
            m_lines.count * m_lines.groups() < 4 * m_threads)
            return runLargeGroups();
        return runPieces();
    }

private:
    const std::byte* at(std::int64_t element) const { return m_in + element * m_width; }
    std::uint8_t* codesAt(std::int64_t line, std::int64_t column) const
    {
        return m_out.codes + static_cast<std::uint64_t>(line) * m_lines.codeBytes +
               static_cast<std::uint64_t>(column / 8 * m_job.bits);
    }
    std::uint8_t* scaleAt(std::int64_t line, std::int64_t group) const
    {
        return m_out.scales + static_cast<std::uint64_t>(line) * m_lines.scaleBytes +
               static_cast<std::uint64_t>(group * bytesOfScale(m_job.scale));
    }
    std::uint8_t* zeroAt(std::int64_t line, std::int64_t group) const
    {
        return m_out.zeros == nullptr
                   ? nullptr
                   : m_out.zeros + static_cast<std::uint64_t>(line) * m_lines.zeroBytes + group;
    }

    // Every thread takes a run of pieces, each in one pass over memory.
    bool runPieces() const
    {
        const std::int64_t piece = pieceOf(m_lines);
        const std::int64_t pieces = ceilDiv(m_lines.cols, piece);
        std::atomic<bool> good{true};
        forParts(m_lines.count * pieces, m_threads, [&](std::int64_t begin, std::int64_t end) {
            while (begin < end && good.load(std::memory_order_relaxed)) {
                const std::int64_t line = begin / pieces, first = begin % pieces;
                const std::int64_t last = std::min(pieces, first + (end - begin));
                const std::int64_t from = first * piece, to = std::min(last * piece, m_lines.cols);
                const std::int64_t group = from / m_lines.group;
                if (!quantizeGridSpan(m_job, m_dtype, at(line * m_lines.cols + from), to - from,
                                      m_lines.group,
                                      {codesAt(line, from), scaleAt(line, group), zeroAt(line, group)}))
                    good.store(false, std::memory_order_relaxed);
                begin += last - first;
            }
        });
        return good.load();
    }

    bool runLargeGroups() const
    {
        for (std::int64_t line = 0; line < m_lines.count; ++line)
            for (std::int64_t g = 0; g < m_lines.groups(); ++g) {
                const std::int64_t from = g * m_lines.group;
                const std::int64_t to = std::min(from + m_lines.group, m_lines.cols);
                // Groups within a line begin at a whole word only when their size says so.
                if (from % 32 != 0 || (to % 32 != 0 && to != m_lines.cols)) return runPieces();
                if (!runShared(line * m_lines.cols + from, line * m_lines.cols + to, scaleAt(line, g),
                               zeroAt(line, g)))
                    return false;
            }
        return true;
    }

    // One scale for elements [from, to), which all threads share: first their range, then their codes.
    bool runShared(std::int64_t from, std::int64_t to, std::uint8_t* scale, std::uint8_t* zero) const
    {
        float min = 0, max = 0;
        bool good = true;
        const std::int64_t pieces = ceilDiv(to - from, kPieceColumns);
        forParts(pieces, m_threads, [&](std::int64_t begin, std::int64_t end) {
            const std::int64_t first = from + begin * kPieceColumns;
            const std::int64_t n = std::min(to, from + end * kPieceColumns) - first;
            float low = 0, high = 0;
            const bool finite = rangeOfSpan(m_dtype, at(first), n, low, high);
#pragma omp critical(halftone_simd_range)
            {
                good = good && finite;
                min = std::min(min, low);
                max = std::max(max, high);
            }
        });
        if (!good) return false;
        const GridPoint point = pointOf(m_job, min, max);
        if (!std::isfinite(point.scale)) return false;
        storeScale(point.scale, scale);
        if (zero != nullptr) *zero = static_cast<std::uint8_t>(point.zero);
        const std::int64_t perLine = ceilDiv(std::min(to - from, m_lines.cols), kPieceColumns);
        const std::int64_t lines = ceilDiv(to - from, m_lines.cols);
        forParts(lines * perLine, m_threads, [&](std::int64_t begin, std::int64_t end) {
            for (; begin < end; ++begin) {
                const std::int64_t line = from / m_lines.cols + begin / perLine;
                const std::int64_t lineEnd = std::min(to, (line + 1) * m_lines.cols);
                const std::int64_t first =
                    std::max(from, line * m_lines.cols) + begin % perLine * kPieceColumns;
                const std::int64_t n = std::min(kPieceColumns, lineEnd - first);
                encodeGridSpan(m_job, m_dtype, at(first), n, point,
                               codesAt(line, first - line * m_lines.cols));
            }
        });
        return true;
    }

    void storeScale(float scale, std::uint8_t* out) const
    {
        const std::uint32_t bits = scaleBits(scale, m_job.scale);
        for (int k = 0; k < bytesOfScale(m_job.scale); ++k)
            out[k] = static_cast<std::uint8_t>(bits >> (8 * k));
    }

    const Job m_job;
    const DType m_dtype;
    const std::byte* m_in;
    const GridPlanes m_out;
    const Lines m_lines;
    const int m_threads;
    const std::int64_t m_width;
};

/// Values of all lines; `oneScale`: one for the whole matrix.
template <class Job>
void decodeLines(const Job& job, const Lines& lines, bool oneScale, ConstGridPlanes in, int threads,
                 float* out)
{
    // A piece begins with a group, at a whole byte of codes; under one scale any place will do.
    const bool shared = oneScale || lines.group >= lines.cols;
    const std::int64_t piece = shared ? kPieceColumns : pieceOf(lines);
    const std::int64_t pieces = ceilDiv(lines.cols, piece);
    forParts(lines.count * pieces, threads, [&](std::int64_t begin, std::int64_t end) {
        for (; begin < end; ++begin) {
            const std::int64_t line = begin / pieces, from = begin % pieces * piece;
            const std::int64_t n = std::min(piece, lines.cols - from);
            const auto u = static_cast<std::uint64_t>(line);
            const std::uint64_t first = shared ? 0 : static_cast<std::uint64_t>(from / lines.group);
            const std::uint64_t scaleAt =
                oneScale ? 0
                         : u * lines.scaleBytes + first * static_cast<std::uint64_t>(bytesOfScale(job.scale));
            const std::uint64_t zeroAt = oneScale ? 0 : u * lines.zeroBytes + first;
            decodeGridSpan(job,
                           {in.codes + u * lines.codeBytes + static_cast<std::uint64_t>(from / 8 * job.bits),
                            in.scales + scaleAt, in.zeros != nullptr ? in.zeros + zeroAt : nullptr},
                           n, shared ? n : lines.group, out + line * lines.cols + from);
        }
    });
}

} // namespace halftone::cpu
