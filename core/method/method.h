// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/job/job.h"
#include "core/model/model.h"
#include "core/param/schema.h"
#include "core/result/figure.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

enum class MethodFamily : std::uint8_t { Quantize, FineTune, Analyse, Evaluate };
HALFTONE_API std::string_view nameOf(MethodFamily family);

struct MethodInfo {
    std::string id;  ///< "rtn": stable, in files for ever
    int version = 1; ///< raised when the same parameters give other numbers
    std::string title;
    std::string summary;   ///< one sentence
    std::string reference; ///< the paper or standard
    MethodFamily family = MethodFamily::Analyse;
    bool needsCalibration = false;
    std::vector<OpId> ops; ///< what it asks of a device: known before anything is read
};

struct MethodInput {
    std::shared_ptr<const Model> model;
    std::vector<std::uint32_t>
        weights; ///< the selection: indices into WeightSet::all(); empty = all it takes
};

/// What a run would cost. Made without reading weights: fast enough to follow a slider.
struct MethodPlan {
    double flops = 0;
    std::uint64_t peakBytes = 0;
    std::uint64_t bytesRead = 0;
    std::int64_t weights = 0; ///< how many it will work on
    std::vector<std::string> warnings;
};

/// Stateless and const: one instance serves every thread. plan() then run(). run() writes through
/// ctx.results as it goes, so that a cancelled run keeps what it finished.
class HALFTONE_API Method {
public:
    virtual ~Method() = default;
    virtual const MethodInfo& info() const = 0;
    virtual const ParamSchema& schema() const = 0;
    /// Tables and figures it may write, declared once: docs and the HDF5 layout follow.
    virtual std::vector<TableSchema> tables() const = 0;
    virtual std::vector<FigureSpec> figures() const = 0;
    virtual Result<MethodPlan> plan(const MethodInput& input, const ParamList& params) const = 0;
    virtual Status run(const MethodInput& input, const ParamList& params, JobContext& ctx) const = 0;
};

/// A method of the family Quantize: turns one weight into packed planes. Which weights, files, sizes,
/// progress and tables are the session's business, the same for all of them.
class HALFTONE_API QuantizeMethod : public Method {
public:
    /// The format this weight gets under these parameters; reads no weights.
    virtual Result<const BlockFormat*> target(const WeightInfo& weight, const ParamList& params) const = 0;
    /// weight: F32, F16 or BF16 [rows, cols] on ctx.device; packed: planes of target() made by makePacked();
    /// importance: of its columns, as quantizeBlocks() takes it, from importanceFile(); empty: none.
    virtual Status quantize(const Tensor& weight, PackedTensor& packed, const ParamList& params,
                            std::span<const float> importance, JobContext& ctx) const = 0;
    /// The importance matrix that these parameters name (see Importance); empty: none.
    virtual std::string importanceFile(const ParamList&) const { return {}; }
    /// Floating-point operations a weight, for the time estimate.
    virtual double flopsPerWeight(const ParamList& params) const = 0;
    // The generic part, in terms of the three above: per-weight error table and figure, no file.
    std::vector<TableSchema> tables() const override;
    std::vector<FigureSpec> figures() const override;
    Result<MethodPlan> plan(const MethodInput& input, const ParamList& params) const override;
    Status run(const MethodInput& input, const ParamList& params, JobContext& ctx) const override;
};

/// What a plugin library hands over; the Qt shell around it is ten lines.
class HALFTONE_API MethodProvider {
public:
    virtual ~MethodProvider() = default;
    virtual int apiVersion() const = 0;
    virtual std::vector<std::shared_ptr<const Method>> methods() const = 0;
};
inline constexpr int kMethodApi = 1;

/// The methods of a program. Filled at start by the plugin loader; read by any thread afterwards.
class HALFTONE_API MethodRegistry {
public:
    /// Unsupported for another API number; InvalidArgument for an id that is taken or malformed.
    Status add(const MethodProvider& provider);
    const std::vector<std::shared_ptr<const Method>>& all() const { return m_methods; }
    /// NotFound lists the known ids.
    Result<std::shared_ptr<const Method>> find(std::string_view id) const;

private:
    std::vector<std::shared_ptr<const Method>> m_methods; ///< by id
};

} // namespace halftone
