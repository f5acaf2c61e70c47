// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/importance.h"

#include "core/model/names.h"

#include <algorithm>
#include <fmt/format.h>

namespace halftone {

namespace {

/// "layers.3.ffn.experts.5.up" gives "layers.3.ffn.experts.up", the id of all experts in one tensor.
std::string stackedId(const WeightRole& role)
{
    std::string id = role.id;
    const std::string number = fmt::format(".experts.{}.", role.expert);
    if (const auto at = id.find(number); at != std::string::npos) id.replace(at, number.size(), ".experts.");
    return id;
}

} // namespace

Result<std::shared_ptr<const Importance>> Importance::open(const std::filesystem::path& file,
                                                           const Model& model)
{
    HALFTONE_TRY(matrix, Imatrix::open(file));
    auto made = std::make_shared<Importance>();
    made->m_matrix = std::move(matrix);
    made->m_model = &model;
    const auto roles = model.roles();
    const bool any = std::any_of(roles.begin(), roles.end(), [&](const WeightRole& role) {
        return made->find(role.weight).entry != nullptr;
    });
    if (!any)
        return Error(
            Errc::InvalidArgument,
            fmt::format("{}: none of its {} entries belongs to a weight of this model ({} ...): it was "
                        "made for another model",
                        file.string(), made->m_matrix->entries().size(),
                        made->m_matrix->entries().front().name));
    return std::shared_ptr<const Importance>(std::move(made));
}

Importance::Found Importance::find(std::uint32_t weight) const
{
    const WeightRole& role = m_model->roles()[weight];
    const WeightInfo& info = m_model->weights()->all()[weight];
    Found found;
    found.entry = m_matrix->find(info.name);
    const auto tryId = [&](const std::string& id) {
        if (found.entry != nullptr) return;
        if (const auto name = ggufNameOfId(id)) found.entry = m_matrix->find(*name);
    };
    tryId(role.id);
    const bool ofStack = found.entry == nullptr && role.expert >= 0;
    if (ofStack) tryId(stackedId(role));
    // A tied head is the embedding, which is looked up, not multiplied: the head's activations count.
    if (role.role == Role::Embedding && m_model->config().tiedHead) tryId("head");
    if (found.entry == nullptr) {
        found.why = "not in the file";
        return found;
    }
    const std::int64_t cols = info.shape.cols(), values = found.entry->values;
    const std::int64_t sets = cols > 0 && values % cols == 0 ? values / cols : 0;
    const std::int64_t stacked = info.shape.rank() == 3 ? info.shape[0] : 1;
    const bool fits = sets > 0 && (found.entry->sets == 0 || found.entry->sets == sets) &&
                      (ofStack ? role.expert < sets : sets == 1 || sets == stacked);
    if (!fits) {
        found.why = fmt::format("{} values for {} columns", values, cols);
        found.entry = nullptr;
    } else if (ofStack) {
        found.set = role.expert;
    }
    return found;
}

Result<std::vector<float>> Importance::of(std::uint32_t weight) const
{
    const Found found = find(weight);
    if (found.entry == nullptr) return std::vector<float>{};
    HALFTONE_TRY(values, m_matrix->values(*found.entry));
    if (found.set < 0) return std::move(values);
    const std::int64_t cols = m_model->weights()->all()[weight].shape.cols();
    const auto first = values.begin() + found.set * cols;
    return std::vector<float>(first, first + cols);
}

std::string Importance::whyMissing(std::uint32_t weight) const { return find(weight).why; }

std::string Importance::summary() const
{
    std::string line = fmt::format("{}: {} entries", path().filename().string(), m_matrix->entries().size());
    if (m_matrix->chunks() > 0) {
        line += fmt::format(", {} chunks", m_matrix->chunks());
        if (m_matrix->chunkTokens() > 0) line += fmt::format(" of {} tokens", m_matrix->chunkTokens());
    }
    if (!m_matrix->datasets().empty()) line += fmt::format(", {}", fmt::join(m_matrix->datasets(), ", "));
    return line;
}

std::string unweightedLine(const Importance& importance, const Model& model,
                           const std::vector<std::uint32_t>& weights)
{
    const auto all = model.weights()->all();
    std::string names;
    std::size_t count = 0;
    for (const auto weight : weights) {
        const std::string why = importance.whyMissing(weight);
        if (why.empty()) continue;
        ++count;
        names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", all[weight].name, why);
    }
    if (count == 0) return {};
    return fmt::format("{}: no calibration data for {} tensor{}, encoded with all columns alike: {}",
                       importance.path().filename().string(), count, count == 1 ? "" : "s", names);
}

} // namespace halftone
