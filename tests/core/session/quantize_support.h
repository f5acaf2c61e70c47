// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/method/weight_errors.h"
#include "core/param/table.h"
#include "core/session/job_file.h"
#include "core/session/quantize.h"
#include "tests/support/fixtures.h"
#include "tests/support/jobs.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace halftone::test {

struct AnyFormatParams {
    std::string format = "int4.g32.f16";
};

inline const ParamTable<AnyFormatParams>& anyFormatTable()
{
    static const ParamTable<AnyFormatParams> table = [] {
        ParamTable<AnyFormatParams> t;
        t.field(&AnyFormatParams::format, {.key = "format", .label = "Format", .help = "Any format name."});
        return t;
    }();
    return table;
}

/// Rounds to any format by name: "q4_0", "int3a.g64.bf16". `before` is called in front of each weight.
class AnyFormat final : public QuantizeMethod {
public:
    AnyFormat()
    {
        m_info.id = "any-format";
        m_info.family = MethodFamily::Quantize;
    }
    std::function<Status(JobContext&)> before;
    const MethodInfo& info() const override { return m_info; }
    const ParamSchema& schema() const override { return anyFormatTable().schema(); }
    Result<const BlockFormat*> target(const WeightInfo&, const ParamList& params) const override
    {
        return formatNamed(anyFormatTable().bind(params).format);
    }
    Status quantize(const Tensor& weight, PackedTensor& packed, const ParamList&, std::span<const float>,
                    JobContext& ctx) const override
    {
        if (before) HALFTONE_CHECK(before(ctx));
        return quantizeBlocks(weight, packed, ctx);
    }
    double flopsPerWeight(const ParamList&) const override { return 7; }

private:
    MethodInfo m_info;
};

inline Result<QuantizeRequest> makeRequest(const std::filesystem::path& model,
                                           const std::filesystem::path& output, const ParamTexts& texts,
                                           std::shared_ptr<const QuantizeMethod> method = nullptr)
{
    HALFTONE_TRY(opened, openModel(model));
    QuantizeRequest request;
    request.model = opened;
    request.method = method ? std::move(method) : std::make_shared<const AnyFormat>();
    HALFTONE_TRY(params, quantizeSchema().joined(request.method->schema()).complete(texts));
    request.params = std::move(params);
    request.output = output;
    return request;
}

inline Status run(const QuantizeRequest& request, std::shared_ptr<ResultWriter> results = nullptr)
{
    return runAsJob(std::move(results), [&](JobContext& ctx) { return runQuantize(request, ctx); });
}

inline std::string fileText(const std::filesystem::path& path)
{
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Names of everything in a folder, hidden files too.
inline std::vector<std::string> folderNames(const std::filesystem::path& folder)
{
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        names.push_back(entry.path().filename().string());
    return names;
}

} // namespace halftone::test
