// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/plan.h"

#include "core/base/file.h"
#include "core/base/text.h"
#include "core/method/importance_files.h"
#include "core/method/weight_errors.h"
#include "core/session/gguf_export.h"
#include "core/session/plan_choice.h"
#include "core/session/plan_layout.h"
#include "core/session/recipe.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <new>

namespace halftone {

namespace {

using How = PlannedOutput::How;

class Planner {
public:
    explicit Planner(const QuantizeRequest& request)
        : m_request(request), m_model(*request.model), m_weights(*m_model.weights()),
          m_source(*m_weights.checkpoint())
    {
    }

    Result<OutputPlan> run()
    {
        for (const auto& issue : m_source.issues())
            if (issue.severity == CheckpointIssue::Severity::Error)
                return Error(Errc::BadFormat,
                             issue.text + "; such a checkpoint can be looked at, not quantized");
        static const ParamSchema kNone;
        HALFTONE_TRY(recipe, readRecipe(m_request.params, converts() ? kNone : m_request.method->schema()));
        m_recipe = std::move(recipe);
        HALFTONE_CHECK(chooseTarget());
        HALFTONE_CHECK(nameWeights());
        std::vector<WeightChoice> choices(m_weights.all().size());
        if (!converts()) {
            HALFTONE_TRY(made, chooseWeights(m_model, *m_request.method, m_recipe, m_target.container,
                                             result().warnings));
            choices = std::move(made);
        }
        HALFTONE_CHECK(addAll(choices));
        HALFTONE_CHECK(refuseSubstitutions());
        warnAboutTie();
        HALFTONE_CHECK(tellImportance());
        HALFTONE_CHECK(layOutFile(m_out, m_model, m_target, m_naming, m_untied));
        for (auto& s : result().substitutions)
            finishSubstitution(s);
        addUp();
        estimate();
        return std::move(m_out);
    }

private:
    QuantizePlan& result() { return m_out.plan; }
    bool converts() const { return m_request.method == nullptr; }

    // Without an output the format decides: what GGUF can hold goes to GGUF.
    Status chooseTarget()
    {
        if (m_request.output.empty() && !converts()) {
            for (const auto index : defaultWeights(m_model)) {
                auto format = m_request.method->target(m_weights.all()[index], m_recipe.methodParams);
                if (format && (*format)->ggufType()) m_target.container = Container::Gguf;
                break;
            }
        } else if (!m_request.output.empty()) {
            HALFTONE_TRY(target, outputTarget(m_request.output));
            m_target = std::move(target);
        }
        result().container = m_target.container;
        result().folder = m_target.folder;
        m_out.weightsFile = m_target.weightsFile;
        return Ok{};
    }

    Status nameWeights()
    {
        if (m_source.container() == m_target.container) {
            m_naming = sameNames(m_model);
        } else if (m_target.container == Container::Gguf) {
            HALFTONE_TRY(naming, nameForGguf(m_model));
            m_naming = std::move(naming);
        } else {
            HALFTONE_TRY(naming, nameForSafetensors(m_model));
            m_naming = std::move(naming);
        }
        result().warnings = m_naming.warnings;
        return Ok{};
    }

    Status addAll(const std::vector<WeightChoice>& choices)
    {
        const auto infos = m_weights.all();
        const auto roles = m_model.roles();
        for (std::size_t i = 0; i < infos.size(); ++i) {
            if (m_naming.names[i].empty()) continue;
            HALFTONE_CHECK(add(choices[i], infos[i], roles[i], m_naming.names[i], roles[i].id));
        }
        const WeightRole* head = m_model.byId("head");
        const WeightRole* embed = m_model.byId("embed");
        m_untied = !converts() && m_recipe.untie && m_model.config().tiedHead && embed != nullptr;
        if (m_untied && head == nullptr) HALFTONE_CHECK(addHead(*embed));
        return Ok{};
    }

    // A head of its own for a model that is untied: the embedding's values under the head's name.
    Status addHead(const WeightRole& embed)
    {
        const WeightInfo& info = m_weights.all()[embed.weight];
        const bool gguf = m_target.container == Container::Gguf && m_naming.architecture != "unknown";
        WeightRole role = roleOfName("lm_head.weight");
        role.weight = embed.weight;
        HALFTONE_TRY(choice, chooseHead(m_model, role, *m_request.method, m_recipe, m_target.container));
        return add(choice, info, role, gguf ? "output.weight" : "lm_head.weight", "head");
    }

    Status add(const WeightChoice& choice, const WeightInfo& info, const WeightRole& role,
               const std::string& name, const std::string& id)
    {
        PlannedWeight weight;
        weight.weight = role.weight;
        weight.name = name;
        weight.id = id;
        weight.bytesBefore = info.bytes;
        weight.params = choice.params;
        PlannedOutput output;
        output.planned = result().weights.size();
        output.move = m_naming.move;
        output.movedHeads = m_naming.movedHeads[role.weight];
        if (choice.format != nullptr) {
            weight.action = PlannedWeight::Action::Quantize;
            weight.format = choice.format;
            output.how = How::Quantize;
            output.layout = choice.layout;
            weight.payloadBits = static_cast<std::uint64_t>(
                std::llround(static_cast<double>(info.count()) * choice.format->payloadBits()));
        } else {
            const bool substituted = choice.substitution.has_value();
            if (!substituted && m_target.container == Container::Safetensors && info.isPacked()) {
                HALFTONE_TRY(stays, keepPacked(info, output, weight));
                if (stays) {
                    result().weights.push_back(std::move(weight));
                    m_out.outputs.push_back(std::move(output));
                    return Ok{};
                }
            }
            const bool toF16 = substituted && m_recipe.fallback == QuantizeRecipe::Fallback::F16;
            HALFTONE_TRY(kept, keepAs(info, m_source.container(), m_target.container,
                                      toF16 ? std::optional(DType::F16) : m_recipe.keptDType));
            weight.action = substituted ? PlannedWeight::Action::Substitute : PlannedWeight::Action::Keep;
            weight.keptAs = kept.convertTo ? kept.convertTo : info.plain;
            output.how = kept.convertTo ? How::Convert : How::Copy;
            if (kept.convertTo) output.convertTo = *kept.convertTo;
            if (!kept.note.empty()) result().warnings.push_back(kept.note);
            if (substituted) {
                Substitution s = *choice.substitution;
                s.name = name;
                s.replacement = weight.keptAs ? std::string(nameOf(*weight.keptAs)) : info.type;
                result().substitutions.push_back(std::move(s));
            }
        }
        result().weights.push_back(std::move(weight));
        m_out.outputs.push_back(std::move(output));
        return Ok{};
    }

    // A quantized weight that is not quantized anew: its codes stay, in the layout of the output. False when
    // that layout has no room for them.
    Result<bool> keepPacked(const WeightInfo& info, PlannedOutput& output, PlannedWeight& weight)
    {
        if (m_source.container() == Container::Gguf) return false;
        const auto where = "tensor " + info.name;
        if (!info.whyOpaque.empty()) {
            result().warnings.push_back(
                fmt::format("{} is copied as it is ({}): the new config.json does not describe it", info.name,
                            info.whyOpaque));
            return false;
        }
        std::string why = "its groups follow an index or are blocks of rows, which no format here has";
        const WeightLayout* layout = nullptr;
        if (info.format != nullptr) {
            auto found = weightLayout(m_recipe.layout, *info.format);
            layout = found ? *found : nullptr;
            why = found ? layout->whyNot(*info.format, info.shape) : found.error().what();
            if (why.empty() && !info.name.ends_with(".weight"))
                why = "the packed layouts need a name that ends in \".weight\"";
        }
        if (layout == nullptr || !why.empty()) {
            if (converts())
                return Error(Errc::InvalidArgument,
                             fmt::format("{} ({}) can't change its layout without loss: {}", info.type,
                                         info.packing, why))
                    .in(where);
            const DType dtype = m_recipe.keptDType.value_or(DType::BF16);
            result().warnings.push_back(fmt::format("{} ({}, {}) becomes {}: {}", info.name, info.type,
                                                    info.packing, nameOf(dtype), why));
            output.how = How::Convert;
            output.convertTo = dtype;
            weight.keptAs = dtype;
            return true;
        }
        output.how = layout->name() == info.packing ? How::Copy : How::Repack;
        output.layout = layout;
        weight.format = &layout->storedFormat(*info.format);
        weight.payloadBits = static_cast<std::uint64_t>(
            std::llround(static_cast<double>(info.count()) * weight.format->payloadBits()));
        return true;
    }

    Status refuseSubstitutions()
    {
        const auto& list = result().substitutions;
        if (m_recipe.fallback != QuantizeRecipe::Fallback::Error || list.empty()) return Ok{};
        std::string offenders;
        for (const auto& s : list)
            offenders += (offenders.empty() ? "" : ", ") +
                         (s.block > 0 ? fmt::format("{} ({} columns = {} x {} + {})", s.name, s.length,
                                                    s.length / s.block, s.block, s.remainder)
                                      : fmt::format("{} ({})", s.name, s.text));
        return Error(
            Errc::CheckFailed,
            fmt::format("{} weight{} can't take {}, and fallback=error allows no substitution: {}; choose a "
                        "block that divides the columns, skip them, or allow fallback=keep",
                        list.size(), list.size() == 1 ? "" : "s", list.front().wanted, offenders));
    }

    void finishSubstitution(Substitution& s)
    {
        for (const auto& weight : result().weights)
            if (weight.name == s.name) s.bytes = weight.bytesAfter;
        if (s.block <= 0) {
            s.text = fmt::format("{}: {}: stays {} ({} instead of {})", s.name, s.text, s.replacement,
                                 humanBytes(s.bytes), humanBytes(s.wantedBytes));
            return;
        }
        s.text = fmt::format(
            "{}: {} columns are no multiple of {} ({} x {} + {}): {} instead of {}, {} instead of {}; "
            "padded to {} columns it would take {}",
            s.name, s.length, s.block, s.length / s.block, s.block, s.remainder, s.replacement, s.wanted,
            humanBytes(s.bytes), humanBytes(s.wantedBytes), (s.length / s.block + 1) * s.block,
            humanBytes(s.paddedBytes));
    }

    void warnAboutTie()
    {
        const bool tied = m_model.config().tiedHead;
        const WeightRole* embed = m_model.byId("embed");
        for (const auto& note : m_model.notes())
            result().warnings.push_back(note);
        if (m_recipe.untie && !tied)
            result().warnings.emplace_back("untie: the head is not tied, nothing changes");
        if (!tied || embed == nullptr) return;
        const std::string& name = m_weights.all()[embed->weight].name;
        if (!m_untied) {
            result().warnings.push_back(
                fmt::format("the head is tied to {}: one tensor serves both, {}", name,
                            m_recipe.quantizeEmbedding ? "both are quantized" : "kept as it is"));
            return;
        }
        for (const auto& weight : result().weights)
            if (weight.id == "head") m_untiedName = weight.name;
        if (!m_target.folder && m_target.container == Container::Safetensors)
            result().warnings.emplace_back(
                "untie: config.json beside the file must say tie_word_embeddings false (a "
                "folder as output gets it)");
    }

    // Of each importance matrix that parameters name, for the weights that they are for.
    Status tellImportance()
    {
        ImportanceFiles files(m_model);
        std::map<std::string, std::pair<const ParamList*, std::vector<std::uint32_t>>> users;
        for (const auto& weight : result().weights) {
            if (weight.action != PlannedWeight::Action::Quantize) continue;
            const std::string file = m_request.method->importanceFile(weight.params);
            if (file.empty()) continue;
            auto& [params, weights] = users[file];
            params = &weight.params;
            weights.push_back(weight.weight);
        }
        for (const auto& [file, user] : users) {
            HALFTONE_TRY(lines, files.lines(*m_request.method, *user.first, user.second));
            for (auto& line : lines)
                result().warnings.push_back(std::move(line));
        }
        return Ok{};
    }

    void addUp()
    {
        QuantizePlan& plan = result();
        double bytes = 0, payload = 0, nominal = 0, count = 0;
        const auto infos = m_weights.all();
        for (const auto& weight : plan.weights) {
            const auto n = static_cast<double>(infos[weight.weight].count());
            count += n;
            bytes += static_cast<double>(weight.bytesAfter);
            nominal += static_cast<double>(weight.bytesAfter);
            const bool quantized = weight.format != nullptr;
            payload += quantized ? static_cast<double>(weight.payloadBits)
                                 : 8.0 * static_cast<double>(weight.bytesAfter);
            plan.quantizedCount += quantized ? infos[weight.weight].count() : 0;
            plan.weightCount += infos[weight.weight].count();
            if (m_untied && weight.name == m_untiedName)
                plan.warnings.push_back(fmt::format("untie: {} becomes a tensor of its own, {} more",
                                                    weight.name, humanBytes(weight.bytesAfter)));
        }
        for (const auto& s : plan.substitutions)
            nominal += static_cast<double>(s.wantedBytes) - static_cast<double>(s.bytes);
        if (count > 0) {
            plan.bitsPerWeight = 8 * bytes / count;
            plan.payloadBitsPerWeight = payload / count;
            plan.nominalBitsPerWeight = 8 * nominal / count;
        }
    }

    void estimate()
    {
        QuantizePlan& plan = result();
        std::uint64_t read = 0, largest = 0;
        double values = 0, flops = 0;
        const auto infos = m_weights.all();
        for (const auto& output : m_out.outputs) {
            if (output.how == How::Inline) continue;
            const auto& weight = plan.weights[output.planned];
            const auto& info = infos[weight.weight];
            const auto n = static_cast<std::uint64_t>(info.count());
            read += info.bytes;
            std::uint64_t need = info.bytes + weight.bytesAfter;
            if (output.how == How::Quantize) {
                values += static_cast<double>(n);
                flops += static_cast<double>(n) * m_request.method->flopsPerWeight(weight.params);
                if (!info.isMappable()) need += 4 * n;
                // The planes, and their copy while rows move or zero points are packed.
                need += weight.bytesAfter;
            }
            largest = std::max(largest, need);
        }
        constexpr std::uint64_t kBaseBytes = 96u << 20; // the program, its libraries, piecewise buffers
        plan.peakBytes = kBaseBytes + largest + plan.layout.header.size();
        plan.diskBytes = plan.outputBytes;
        for (const auto& [name, text] : plan.textFiles)
            plan.diskBytes += text.size();
        for (const auto& path : plan.copiedFiles) {
            std::error_code failed;
            const auto size = std::filesystem::file_size(path, failed);
            if (!failed) plan.diskBytes += size;
        }
        plan.estimate = estimateTime(read, plan.outputBytes, values, flops);
        if (m_request.output.empty()) return;
        if (const auto free = freeDiskBytes(m_out.weightsFile); free && *free < plan.diskBytes)
            plan.warnings.push_back(fmt::format("output folder full: need {}, free {}",
                                                humanBytes(plan.diskBytes), humanBytes(*free)));
    }

    const QuantizeRequest& m_request;
    const Model& m_model;
    const WeightSet& m_weights;
    const Checkpoint& m_source;
    QuantizeRecipe m_recipe;
    OutputTarget m_target;
    OutputNaming m_naming;
    OutputPlan m_out;
    bool m_untied = false;
    std::string m_untiedName;
};

} // namespace

Result<OutputPlan> buildOutputPlan(const QuantizeRequest& request)
{
    if (request.model == nullptr) return Error(Errc::Internal, "a plan needs a model");
    try {
        return Planner(request).run();
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, "not enough memory for the plan");
    }
}

Result<QuantizePlan> planQuantize(const QuantizeRequest& request)
{
    HALFTONE_TRY(out, buildOutputPlan(request));
    return std::move(out.plan);
}

} // namespace halftone
