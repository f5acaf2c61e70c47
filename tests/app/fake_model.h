// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model.h"

#include <string>
#include <utility>
#include <vector>

namespace halftone::test {

/// Weights that exist as facts only.
class FakeWeights : public WeightSet {
public:
    explicit FakeWeights(std::vector<WeightInfo> infos) : m_infos(std::move(infos)) {}
    const std::shared_ptr<const Checkpoint>& checkpoint() const override { return m_none; }
    std::span<const WeightInfo> all() const override { return m_infos; }
    const WeightInfo* find(std::string_view name) const override
    {
        for (const auto& info : m_infos)
            if (info.name == name) return &info;
        return nullptr;
    }
    Result<Tensor> loadRows(const WeightInfo&, std::int64_t, std::int64_t, DType, Device&,
                            std::stop_token) const override
    {
        return Error(Errc::Unsupported, "no values");
    }
    Result<Tensor> source(const WeightInfo&, Device&, std::stop_token) const override
    {
        return Error(Errc::Unsupported, "no values");
    }
    Result<PackedTensor> packed(const WeightInfo&) const override
    {
        return Error(Errc::Unsupported, "no values");
    }
    void release(const WeightInfo&) const override {}
    Status intact(const WeightInfo&) const override { return Ok{}; }

private:
    std::vector<WeightInfo> m_infos;
    std::shared_ptr<const Checkpoint> m_none;
};

class FakeModel : public Model {
public:
    explicit FakeModel(std::vector<WeightInfo> infos)
    {
        for (const auto& info : infos) {
            WeightRole role = roleOfName(info.name);
            role.weight = static_cast<std::uint32_t>(m_roles.size());
            m_count += info.count();
            m_roles.push_back(std::move(role));
        }
        m_weights = std::make_shared<FakeWeights>(std::move(infos));
    }
    const std::shared_ptr<const WeightSet>& weights() const override { return m_weights; }
    const ModelConfig& config() const override { return m_config; }
    std::span<const WeightRole> roles() const override { return m_roles; }
    const WeightRole* byId(std::string_view) const override { return nullptr; }
    std::string summary() const override { return "fake"; }
    std::span<const std::string> notes() const override { return {}; }
    std::int64_t weightCount() const override { return m_count; }

private:
    std::shared_ptr<const WeightSet> m_weights;
    ModelConfig m_config;
    std::vector<WeightRole> m_roles;
    std::int64_t m_count = 0;
};

inline WeightInfo weight(std::string name, std::int64_t rows, std::int64_t cols, DType dtype = DType::BF16)
{
    WeightInfo info;
    info.name = std::move(name);
    info.shape = Shape{rows, cols};
    info.type = nameOf(dtype);
    info.plain = dtype;
    info.bytes = static_cast<std::uint64_t>(rows * cols * bitsOf(dtype) / 8);
    return info;
}

} // namespace halftone::test
