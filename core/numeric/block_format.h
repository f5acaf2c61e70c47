// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"
#include "core/numeric/element.h"
#include "core/numeric/group_scale.h"
#include "core/numeric/int_grid.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

/// Which encoder of a format. The reference writes the bytes of those who defined the format. The best one
/// looks further for scales, heeds importance, and has no higher weighted squared error on any block. Formats
/// without one have the reference only.
enum class Encoder : std::uint8_t { Reference, Best };

/// What a format is, in numbers: all that a kernel on another device needs to know.
struct FormatDesc {
    /// Interleaved: fixed-size blocks, scales inside (GGUF). Planar: codes, scales and zero points in
    /// planes of their own (compressed-tensors).
    enum class Layout : std::uint8_t { Interleaved, Planar };
    /// Which block arithmetic: one entry a family, numbered for ever since kernels switch on it.
    enum class Family : std::uint8_t {
        IntGrid,
        Q4_0,
        Q4_1,
        Q5_0,
        Q5_1,
        Q8_0,
        Q2_K,
        Q3_K,
        Q4_K,
        Q5_K,
        Q6_K,
        IQ4_NL,
        IQ4_XS,
        TQ1_0,
        TQ2_0,
        MXFP4,
        NVFP4,
        Q8_1,
        Q8_K,
        Q1_0,
        Q2_0,
        Scaled, ///< planar: small floats under a float scale
        Mx,     ///< planar: floats or whole numbers under a power of two
        Nv,     ///< planar: E2M1 or whole numbers under E4M3 and a scale of the tensor
        Lookup, ///< planar: entries of a table of 16, relative to the largest magnitude
        Ternary ///< planar: -1, 0, 1 under the mean magnitude
    };
    /// What all rows of a planar format share in a plane of its own.
    enum class Shared : std::uint8_t {
        None,
        TensorScale, ///< F32: multiplies the scales of all groups
        NestedScales ///< F32: mean of all scales, then a scale for each 256 of them in row order
    };
    static constexpr std::int64_t kWholeRow = -1;    ///< blockSize: one scale a row ("channel")
    static constexpr std::int64_t kWholeTensor = -2; ///< blockSize: one scale a tensor

    Layout layout = Layout::Interleaved;
    Family family = Family::IntGrid;
    std::uint8_t bits = 4;        ///< of one code, as inspectRow() counts codes
    std::int64_t blockSize = 32;  ///< columns under one scale, or of one interleaved block
    std::uint32_t blockBytes = 0; ///< interleaved only
    std::uint32_t codeBytes = 0;  ///< bytes of a block that hold codes; interleaved only
    GridRule rule = GridRule::SymRestricted;
    ScaleType scale = ScaleType::F16; ///< planar only
    bool zeroPoint = false;           ///< planar only
    /// Ends of the codes that the encoder writes, as inspectRow() counts them.
    std::int16_t lowest = 0, highest = 0;
    bool uniform = true;            ///< codes are evenly spaced; else they index codeValues()
    bool readOnly = false;          ///< there is no encoder: encodeRow() refuses
    bool best = false;              ///< devices have a better encoder than the reference: Encoder::Best
    Element element = Element::Int; ///< what a code stands for; planar only
    ScaleRule scaleRule = ScaleRule::AbsMax; ///< families from Scaled on
    Shared shared = Shared::None;
    bool highNibbleFirst = false; ///< of two 4-bit codes in a byte, the first has the high half
    /// Rows can't be encoded before all of the tensor is known.
    bool needsWholeTensor() const { return blockSize == kWholeTensor || shared != Shared::None; }
};

/// Sizes of a packed [rows, cols] matrix. Codes of a planar row are a little-endian bit stream of
/// `bits` each, padded to whole 32-bit words (compressed-tensors "pack-quantized"); signed codes are
/// stored with 2^(bits-1) added. One zero point is one byte, unsigned.
struct PackedLayout {
    std::int64_t rows = 0, cols = 0;
    std::int64_t groupsPerRow = 1; ///< blocks along a row; 1 for a scale a row or a tensor
    std::uint64_t codeRowBytes = 0;
    std::uint64_t scaleRowBytes = 0, zeroRowBytes = 0; ///< 0 when one entry serves all rows
    std::uint64_t codeBytes = 0, scaleBytes = 0, zeroBytes = 0;
    std::uint64_t sharedBytes = 0; ///< of the plane that all rows share
    std::uint64_t total() const { return codeBytes + scaleBytes + zeroBytes + sharedBytes; }
};

/// What a format that looks at the whole tensor needs to know of it.
struct ValueRange {
    float min = 0, max = 0;
    double magnitude = 0; ///< sum of |x|, rows in order
    std::int64_t count = 0;
    float peak() const { return -min > max ? -min : max; }
    float meanMagnitude() const
    {
        return count == 0 ? 0.0f : static_cast<float>(magnitude / static_cast<double>(count));
    }
    /// Takes in the next rows.
    HALFTONE_API void merge(const ValueRange& next);
};
/// Of the values of one row, which are finite.
HALFTONE_API ValueRange rangeOfRow(std::span<const float> row);

/// The planes of some consecutive rows. For a scale a tensor, `scales` and `zeros` hold one entry. `shared`
/// is that of the whole matrix, of which `firstRow` is the first of these rows.
struct PackedRows {
    std::span<std::byte> codes, scales;
    std::span<std::uint8_t> zeros;
    std::span<std::byte> shared = {};
    std::int64_t firstRow = 0;
};
struct ConstPackedRows {
    ConstPackedRows() = default;
    ConstPackedRows(std::span<const std::byte> codePlane, std::span<const std::byte> scalePlane,
                    std::span<const std::uint8_t> zeroPlane, std::span<const std::byte> sharedPlane = {},
                    std::int64_t first = 0)
        : codes(codePlane), scales(scalePlane), zeros(zeroPlane), shared(sharedPlane), firstRow(first)
    {
    }
    ConstPackedRows(const PackedRows& rows)
        : codes(rows.codes), scales(rows.scales), zeros(rows.zeros), shared(rows.shared),
          firstRow(rows.firstRow)
    {
    }
    std::span<const std::byte> codes, scales;
    std::span<const std::uint8_t> zeros;
    std::span<const std::byte> shared;
    std::int64_t firstRow = 0;
};
/// Rows [begin, end) of the planes of a whole packed matrix.
HALFTONE_API PackedRows rowsOf(const PackedRows& all, const PackedLayout& layout, std::int64_t begin,
                               std::int64_t end);
HALFTONE_API ConstPackedRows rowsOf(const ConstPackedRows& all, const PackedLayout& layout,
                                    std::int64_t begin, std::int64_t end);

/// A packed number format: "q4_0", "int4.g128.f16". Stateless; lives as long as the program.
/// encodeRow(s)/decodeRow(s) are the plain reference; devices have faster kernels for desc().
class HALFTONE_API BlockFormat {
public:
    virtual ~BlockFormat() = default;
    /// Stable id, also accepted by formatNamed().
    virtual const std::string& name() const = 0;
    /// For people: "INT4, symmetric, groups of 128, F16 scales".
    virtual const std::string& title() const = 0;
    virtual const FormatDesc& desc() const = 0;
    /// ggml's type number when GGUF can store it.
    virtual std::optional<std::uint32_t> ggufType() const = 0;
    /// Sizes, or InvalidArgument when the columns don't fit the blocks (named with the remainder) or
    /// the size overflows. Planar groups may end in a short one.
    Result<PackedLayout> layout(std::int64_t rows, std::int64_t cols) const;
    /// Fills the plane that all rows share, before the first row is encoded. `groupPeaks`: the largest
    /// magnitude of each group of all rows (groupPeaksOf), for NestedScales only.
    virtual void encodeShared(const ValueRange& range, std::span<const float> groupPeaks,
                              std::span<std::byte> shared) const;
    /// Encodes one row of any length that layout() takes. `range` is used by formats with one scale a
    /// tensor only; `out.shared` must be filled. Numeric when a value is NaN or Inf, or a scale overflows its
    /// type; the text names the columns and, from `row`, the row. Unsupported for types that are only read.
    virtual Status encodeRow(std::span<const float> in, std::int64_t row, ValueRange range,
                             PackedRows out) const = 0;
    /// Decodes one row; never fails: sizes were checked by layout().
    virtual void decodeRow(ConstPackedRows in, std::span<float> out) const = 0;
    /// Code of each element and the scale and zero point it is read with: what the block inspector shows.
    /// value = (code - zero) * scale + offset, or codeValues(0)[code] * scale where codes are not uniform.
    virtual void inspectRow(ConstPackedRows in, std::int64_t cols, std::span<std::int32_t> codes,
                            std::span<GridPoint> points) const = 0;
    /// encodeRow() for in.size() / cols consecutive rows, counted from 0.
    /// The rows are taken for the whole tensor where something is shared by all rows.
    Status encodeRows(std::span<const float> in, std::int64_t cols, ValueRange range, PackedRows out) const;
    /// decodeRow() for out.size() / cols consecutive rows.
    void decodeRows(ConstPackedRows in, std::int64_t cols, std::span<float> out) const;
    /// The values of all codes from the lowest to the highest, at scale 1 and the given zero point: the code
    /// ruler. They ascend but for codes of sign and magnitude (E2M1), and are NaN or Inf where the code is.
    virtual std::vector<float> codeValues(std::int32_t zero) const = 0;
    /// Floating-point operations that encoding a weight takes, about: what a plain loop would do in that
    /// time.
    virtual double encodeFlops() const = 0;
    virtual double encodeFlops(Encoder) const { return encodeFlops(); }
    /// Bits a weight for long rows: all, and codes only.
    double bitsPerWeight() const;
    double payloadBits() const;
};

/// The largest magnitude of each group of a row of a planar format.
HALFTONE_API void groupPeaksOf(const FormatDesc& desc, std::span<const float> row, std::span<float> peaks);

/// A format by name, made on first use: a GGUF block type ("q4_0", "q4_k"), a uniform grid
/// "int<bits>[a|f].<t|c|gN>.<f32|f16|bf16>" (a: asymmetric, f: full-range symmetric), or one of
/// formatHeads(). InvalidArgument names what can't be read.
HALFTONE_API Result<const BlockFormat*> formatNamed(std::string_view name);
/// The interleaved format of a ggml type number, or null when it can't be decoded.
HALFTONE_API const BlockFormat* formatOfGgufType(std::uint32_t type);
/// The uniform grid with these numbers. bits 2..8; blockSize > 0, kWholeRow or kWholeTensor.
HALFTONE_API Result<const BlockFormat*> intGridFormat(int bits, GridRule rule, std::int64_t blockSize,
                                                      ScaleType scale);
/// First part of the names "<head>.<t|c|gN>.<tail>" of planar formats other than integer grids, for example
/// "mxfp8_e4m3.g32.floor".
struct FormatHead {
    std::string name;
    std::string title;              ///< "MXFP8, E4M3 elements"
    std::vector<std::string> tails; ///< type or rule of the scales, the usual one first
    std::int64_t usualBlock = 0;    ///< blockSize of the standard
    bool wholeRows = false;         ///< "c" and "t" are names as well
};
HALFTONE_API const std::vector<FormatHead>& formatHeads();
/// "t", "c" or "g128": the part of a name that says what shares a scale.
HALFTONE_API std::string groupName(std::int64_t blockSize);
/// All formats that are listed for people: the block types that can be written, and the others in their usual
/// shapes.
HALFTONE_API std::vector<const BlockFormat*> listedFormats();

} // namespace halftone
