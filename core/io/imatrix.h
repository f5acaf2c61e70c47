// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/file.h"
#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

/// Sums of squared activations that met the columns of one weight.
struct ImatrixEntry {
    std::string name; ///< of the weight, as GGUF calls it: "blk.0.attn_q.weight"
    std::int64_t values = 0;
    /// Experts of a stacked weight, one after the other; 1 for others. Old files don't say: 0.
    std::int64_t sets = 1;
};

/// A file of llama.cpp's imatrix tool: GGUF (general.type = imatrix, tensors NAME.in_sum2 and NAME.counts) or
/// the older binary form. Immutable; any thread. Opening checks all lengths; values are read when asked for.
class HALFTONE_API Imatrix {
public:
    /// NotFound, Io; BadFormat names the file, the entry and the byte.
    static Result<std::shared_ptr<const Imatrix>> open(const std::filesystem::path& path);

    const std::filesystem::path& path() const { return m_file->path(); }
    bool old() const { return m_old; }                                  ///< the binary form
    std::span<const ImatrixEntry> entries() const { return m_entries; } ///< by name
    const ImatrixEntry* find(std::string_view name) const;
    const std::vector<std::string>& datasets() const { return m_datasets; }
    std::int64_t chunks() const { return m_chunks; }           ///< 0: the file doesn't say
    std::int64_t chunkTokens() const { return m_chunkTokens; } ///< 0: the file doesn't say

    /// Mean squares of an entry, in its order. A set that no token reached counts all its columns alike (1).
    /// BadFormat for values or counts that are negative or not finite; Io when the file was cut meanwhile.
    Result<std::vector<float>> values(const ImatrixEntry& entry) const;

private:
    struct Place {
        std::span<const std::byte> sums, counts; ///< counts: F32, one a set; empty in old files
        std::int32_t calls = 0;                  ///< old files: what the values are multiples of
    };
    friend class ImatrixReader;
    std::shared_ptr<const MappedFile> m_file;
    bool m_old = false;
    std::vector<ImatrixEntry> m_entries;
    std::vector<Place> m_places; ///< of the entries
    std::vector<std::string> m_datasets;
    std::int64_t m_chunks = 0, m_chunkTokens = 0;
};

} // namespace halftone
