// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/file.h"
#include "core/io/checkpoint.h"

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace halftone {

/// One mapped file of a checkpoint.
struct CheckpointFile {
    std::shared_ptr<const MappedFile> mapped;
    std::uint64_t headerBytes = 0; ///< all bytes in front of the tensors
    // Which file it was when it was mapped, to notice that this very file is cut later.
    dev_t device = 0;
    ino_t inode = 0;
};
Result<CheckpointFile> mapCheckpointFile(const std::filesystem::path& path);

/// What a reader collects while it opens a checkpoint.
struct CheckpointData {
    std::filesystem::path path;
    Container container = Container::Safetensors;
    std::vector<CheckpointFile> files;
    std::vector<TensorInfo> tensors;
    std::vector<MetaEntry> metadata;
    std::deque<std::vector<std::byte>> metadataBytes; ///< of entries that don't point into a file
    std::vector<CheckpointIssue> issues;
    std::string configJson, quantizeConfigJson;
    std::vector<std::filesystem::path> sidecars;

    void warn(std::string text) { issues.push_back({CheckpointIssue::Severity::Warning, std::move(text)}); }
    void error(std::string text) { issues.push_back({CheckpointIssue::Severity::Error, std::move(text)}); }
};

/// Makes the checkpoint; BadFormat when a tensor name stands twice.
Result<std::shared_ptr<const Checkpoint>> makeCheckpoint(CheckpointData data);

/// A part of the tensor order of one file whose data area is checked for overlap, holes and cuts.
struct TilingReport {
    std::vector<std::string> problems; ///< holes and trailing bytes: warnings
    std::uint64_t end = 0;             ///< end of the last tensor, from the start of the data area
    std::vector<std::string> cut;      ///< tensors that reach behind the data area
};
/// `tensors` sorted by offset, offsets from the start of a data area of `areaBytes`; `alignment` is what
/// offsets are rounded up to. BadFormat for an overlap.
Result<TilingReport> checkTiling(std::span<const TensorInfo> tensors, std::uint64_t areaBytes,
                                 std::uint64_t alignment);

// The readers. `file` is mapped already by the one that looked at the content.
Result<std::shared_ptr<const Checkpoint>> openSafetensors(CheckpointFile file, OpenOptions options);
Result<std::shared_ptr<const Checkpoint>> openSafetensorsIndex(const std::filesystem::path& index,
                                                               OpenOptions options);
Result<std::shared_ptr<const Checkpoint>> openGguf(CheckpointFile file, OpenOptions options);

/// Fills config.json and the list of files that belong to the model in the folder of `data.path`.
void readSidecars(CheckpointData& data, const std::filesystem::path& folder);

/// True when the bytes can be a safetensors file: length, '{', header inside the file.
bool looksLikeSafetensors(std::span<const std::byte> bytes);

} // namespace halftone
