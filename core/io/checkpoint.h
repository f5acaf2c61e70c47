// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"
#include "core/device/device.h"
#include "core/numeric/block_format.h"
#include "core/numeric/dtype.h"
#include "core/tensor/tensor.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

enum class Container : std::uint8_t { Safetensors, Gguf };

/// How a tensor's elements are stored: plain elements, blocks this program decodes, or neither.
struct StoredType {
    std::string name;                    ///< "BF16", "Q4_0", "type 999"
    std::optional<DType> plain;          ///< set for plain elements
    const BlockFormat* blocks = nullptr; ///< set for decodable blocks
    std::uint32_t ggufId = 0;            ///< GGUF only
    std::string whyOpaque;               ///< not empty: the values can't be read, and why
    bool decodable() const { return whyOpaque.empty(); }
};

/// One tensor as it stands in the file. Shapes are in PyTorch's order (GGUF's dims reversed).
struct TensorInfo {
    std::string name;
    Shape shape;
    StoredType stored;
    std::uint32_t file = 0;       ///< index into Checkpoint::files()
    std::uint64_t fileOffset = 0; ///< of the first byte
    std::uint64_t bytes = 0;
};

/// GGUF's value types; safetensors metadata are strings.
enum class MetaType : std::uint8_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

/// One metadata entry, decoded on demand from the mapped file. `raw` are the value's bytes as GGUF
/// stores them behind its type (for arrays: behind element type and count), valid while the
/// checkpoint lives.
struct MetaEntry {
    std::string key;
    MetaType type = MetaType::String;
    MetaType elementType = MetaType::U8; ///< arrays only
    std::uint64_t count = 0;             ///< arrays only
    std::span<const std::byte> raw;
};

/// Something about the file a person should know. Errors block quantizing, not browsing.
struct CheckpointIssue {
    enum class Severity : std::uint8_t { Warning, Error } severity;
    std::string text; ///< names file, tensor, number and remedy on one line
};

struct OpenOptions {
    bool strict = false; ///< holes, trailing bytes and other warnings become BadFormat
    /// Tensors that a shard holds but the index does not name are listed too, not only reported.
    bool keepOrphans = false;
    /// A part of a split GGUF brings the other parts along; off: this one file alone.
    bool joinParts = true;
};

/// A checkpoint: one file, a sharded set, or a folder with config.json. Immutable once open; any thread
/// may read it. Holds the mapped files; opening reads headers only.
class HALFTONE_API Checkpoint {
public:
    /// A .safetensors or .gguf file (told by content, not by name), a *.safetensors.index.json, one
    /// part of a split GGUF, or a folder. NotFound, BadFormat.
    static Result<std::shared_ptr<const Checkpoint>> open(const std::filesystem::path& path,
                                                          OpenOptions options = {});
    virtual ~Checkpoint() = default;
    virtual const std::filesystem::path& path() const = 0; ///< what was opened
    virtual std::span<const std::filesystem::path> files() const = 0;
    virtual Container container() const = 0;
    virtual std::uint64_t fileBytes() const = 0; ///< of all files
    virtual std::span<const TensorInfo> tensors() const = 0;
    virtual const TensorInfo* find(std::string_view name) const = 0;
    virtual std::span<const MetaEntry> metadata() const = 0;
    virtual const MetaEntry* meta(std::string_view key) const = 0;
    virtual std::span<const CheckpointIssue> issues() const = 0;
    /// Text of config.json beside a safetensors checkpoint; empty when there is none.
    virtual const std::string& configJson() const = 0;
    /// Text of quantize_config.json or quant_config.json, where older programs keep what they did to the
    /// weights; empty when there is none.
    virtual const std::string& quantizeConfigJson() const = 0;
    /// Other files of a model folder (tokenizer.json, ...), to be copied along on export.
    virtual std::span<const std::filesystem::path> sidecars() const = 0;
    /// Over headers, sizes and sampled pages; goes into every result.
    virtual const std::string& contentHash() const = 0;
    /// Zero copy. BadFormat when the shard is short; may be unaligned.
    virtual Result<std::span<const std::byte>> raw(const TensorInfo& info) const = 0;
    /// After reading a raw span: Io when the file was cut meanwhile.
    virtual Status intact(const TensorInfo& info) const = 0;
    /// The pages of this tensor are not needed soon.
    virtual void release(const TensorInfo& info) const = 0;
    /// The tensor as it is stored, zero copy, on the CPU (read-only storage). Plain types only.
    virtual Result<Tensor> mapped(const TensorInfo& info) const = 0;
    /// Decodes rows [begin, end) of the tensor seen as a matrix to `want` (F32, F16, BF16) on `device`.
    virtual Result<Tensor> loadRows(const TensorInfo& info, std::int64_t begin, std::int64_t end, DType want,
                                    Device& device, std::stop_token stop) const = 0;
    Result<Tensor> load(const TensorInfo& info, DType want, Device& device, std::stop_token stop) const
    {
        return loadRows(info, 0, info.shape.rows(), want, device, std::move(stop));
    }
};

// Decoders of metadata values: nothing when the type does not fit.
HALFTONE_API std::optional<std::string> metaString(const MetaEntry& entry);
HALFTONE_API std::optional<std::int64_t> metaInt(const MetaEntry& entry); ///< any integer type that fits
HALFTONE_API std::optional<double> metaReal(const MetaEntry& entry);      ///< floats and integers
HALFTONE_API std::optional<bool> metaBool(const MetaEntry& entry);
/// Strings of a string array.
HALFTONE_API std::optional<std::vector<std::string>> metaStrings(const MetaEntry& entry);
/// For people: scalars whole, strings cut, arrays as "[151936 strings]".
HALFTONE_API std::string metaText(const MetaEntry& entry);

/// True for "split.no", "split.count", "split.tensors.count": they describe one part of a split GGUF
/// and must not be copied into a file that is cut differently.
HALFTONE_API bool isSplitKey(std::string_view key);

/// Facts about a ggml type number, known or not decodable by us; null when the number is unknown.
struct GgufTypeInfo {
    std::uint32_t id;
    const char* name;
    std::uint32_t blockSize; ///< elements; 1 for plain types
    std::uint32_t blockBytes;
    std::optional<DType> plain;
    std::uint32_t fileType; ///< general.file_type of a file that is mostly this, 0xffffffff: none
};
HALFTONE_API const GgufTypeInfo* ggufTypeInfo(std::uint32_t id);

} // namespace halftone
