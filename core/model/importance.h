// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"
#include "core/io/imatrix.h"
#include "core/model/model.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace halftone {

/// The importance of a model's columns, from an importance matrix whose names are those of GGUF. Immutable;
/// any thread. The model must outlive it.
class HALFTONE_API Importance {
public:
    /// Errors of Imatrix::open(), and InvalidArgument when no weight of the model is in the file.
    static Result<std::shared_ptr<const Importance>> open(const std::filesystem::path& file,
                                                          const Model& model);

    /// One number a column; several sets, one after the other, for stacked experts. Empty when the file has
    /// nothing for this weight: see whyMissing(). BadFormat for values that can't be importance.
    Result<std::vector<float>> of(std::uint32_t weight) const;
    /// Why there is nothing for a weight; empty when there is.
    std::string whyMissing(std::uint32_t weight) const;
    /// "imatrix.gguf: 336 entries, 100 chunks of 512 tokens, wiki.train.raw".
    std::string summary() const;
    const std::filesystem::path& path() const { return m_matrix->path(); }

private:
    struct Found {
        const ImatrixEntry* entry = nullptr;
        std::int64_t set = -1; ///< one expert's share of a stacked entry; -1: all
        std::string why;
    };
    Found find(std::uint32_t weight) const;

    std::shared_ptr<const Imatrix> m_matrix;
    const Model* m_model = nullptr;
};

/// One line that names the weights without data, or nothing: they are encoded with all columns alike.
HALFTONE_API std::string unweightedLine(const Importance& importance, const Model& model,
                                        const std::vector<std::uint32_t>& weights);

} // namespace halftone
