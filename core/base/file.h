// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace halftone {

/// A file mapped read-only. Immutable; any thread may read it. If the file is cut while it is mapped,
/// the lost pages read as zeros and damaged() turns true; readers ask it after each use of bytes(),
/// so that a truncated file is an error and never a bus error.
class HALFTONE_API MappedFile {
public:
    /// NotFound, Io. Directories and special files are refused. An empty file maps to an empty span.
    static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
    virtual ~MappedFile() = default;
    virtual const std::filesystem::path& path() const = 0;
    virtual std::span<const std::byte> bytes() const = 0;
    /// True once any page turned out to be missing.
    virtual bool damaged() const = 0;
    /// Tells the kernel that these bytes are not needed soon, so that resident memory stays bounded.
    virtual void release(std::span<const std::byte> part) const = 0;
};

/// A file that appears under its final name only when it is whole: written under a temporary name in
/// the same folder, flushed to disk, then renamed. Destroying it before commit() removes the rest.
class HALFTONE_API OutputFile {
public:
    /// Reserves `expectedBytes` on disk first when it is not 0, so that a full disk fails at once:
    /// CannotWrite "folder X: need N, free M".
    static Result<std::unique_ptr<OutputFile>> create(const std::filesystem::path& finalPath,
                                                      std::uint64_t expectedBytes);
    virtual ~OutputFile() = default;
    virtual const std::filesystem::path& temporaryPath() const = 0;
    virtual const std::filesystem::path& finalPath() const = 0;
    /// Appends. CannotWrite with the folder, the need and the space that is left.
    virtual Status write(std::span<const std::byte> bytes) = 0;
    /// Writes at a place inside or behind what is written.
    virtual Status writeAt(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
    virtual std::uint64_t size() const = 0;
    /// Flushes to disk; the file can now be re-opened under temporaryPath() and verified.
    virtual Status flush() = 0;
    /// Flushes, renames to the final name and flushes the folder.
    virtual Status commit() = 0;
};

/// Reads a whole small text file; BadFormat above `limit` bytes.
HALFTONE_API Result<std::string> readTextFile(const std::filesystem::path& path, std::uint64_t limit);
/// Writes a text file through OutputFile.
HALFTONE_API Status writeTextFile(const std::filesystem::path& path, std::string_view text);
/// Bytes that an ordinary user may still write into the folder that holds `path`.
HALFTONE_API Result<std::uint64_t> freeDiskBytes(const std::filesystem::path& path);

} // namespace halftone
