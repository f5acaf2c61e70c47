// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"
#include "core/io/checkpoint.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace halftone {

/// One tensor of a file to be written.
struct OutputTensor {
    std::string name;
    Shape shape;                ///< PyTorch's order, also for GGUF
    DType dtype = DType::F32;   ///< safetensors, and plain GGUF types
    std::uint32_t ggufType = 0; ///< GGUF only
    std::uint64_t bytes = 0;    ///< payload, without padding
};

/// A metadata entry with its own bytes (as MetaEntry::raw).
struct OutputMeta {
    std::string key;
    MetaType type = MetaType::String;
    MetaType elementType = MetaType::U8;
    std::uint64_t count = 0;
    std::vector<std::byte> raw;
};
HALFTONE_API OutputMeta metaOf(std::string key, std::string_view value);
HALFTONE_API OutputMeta metaOfU32(std::string key, std::uint32_t value);
HALFTONE_API OutputMeta metaOfF32(std::string key, float value);
HALFTONE_API OutputMeta metaOfBool(std::string key, bool value);
HALFTONE_API OutputMeta metaOfStrings(std::string key, std::span<const std::string> values);
HALFTONE_API OutputMeta metaOfI32s(std::string key, std::span<const std::int32_t> values);
HALFTONE_API OutputMeta metaCopy(const MetaEntry& entry);

/// What a file will look like, to the byte, before anything is written.
struct FileLayout {
    Container container = Container::Safetensors;
    std::vector<OutputTensor> tensors;  ///< in file order
    std::vector<std::uint64_t> offsets; ///< absolute, one a tensor
    std::vector<std::byte> header;      ///< all bytes in front of the first tensor
    std::uint64_t totalBytes = 0;
};
/// safetensors: sorted by dtype (largest first) and name, header padded to 8; metadata strings only.
/// GGUF: in the given order, offsets padded to general.alignment; dims reversed.
/// InvalidArgument: double names, a name or rank the container can't hold.
HALFTONE_API Result<FileLayout> layoutFile(Container container, std::vector<OutputTensor> tensors,
                                           std::span<const OutputMeta> metadata);

/// Writes one checkpoint file: temporary name, any order of tensors, then flush, re-open, verify, rename.
class HALFTONE_API CheckpointWriter {
public:
    static Result<std::unique_ptr<CheckpointWriter>> create(const std::filesystem::path& path,
                                                            FileLayout layout);
    virtual ~CheckpointWriter() = default;
    virtual const FileLayout& layout() const = 0;
    /// Appends bytes to the tensor of this index; parts of one tensor come in order.
    virtual Status write(std::size_t tensor, std::span<const std::byte> bytes) = 0;
    /// Every tensor must be whole. Re-opens the temporary file with our reader in strict mode, compares
    /// names, shapes, types and a hash of each payload, calls `check` on it, renames.
    using Check = std::function<Status(const Checkpoint& written)>;
    virtual Status finish(const Check& check) = 0;
};

} // namespace halftone
