// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/plan_choice.h"

#include "core/base/text.h"
#include "core/method/weight_errors.h"
#include "core/session/plan.h"

#include <algorithm>
#include <fmt/format.h>

namespace halftone {

namespace {

const char* nameOf(Container container) { return container == Container::Gguf ? "gguf" : "safetensors"; }

bool isEightBitFloat(DType dtype)
{
    return dtype == DType::F8E4M3 || dtype == DType::F8E5M2 || dtype == DType::F8E4M3Fnuz ||
           dtype == DType::F8E5M2Fnuz || dtype == DType::F8E8M0;
}

// Already quantized by somebody: blocks, codes with scales, or 8-bit floats.
bool isQuantized(const WeightInfo& info)
{
    return info.isPacked() || (info.plain && isEightBitFloat(*info.plain));
}

class Chooser {
public:
    Chooser(const Model& model, const QuantizeMethod& method, const QuantizeRecipe& recipe,
            Container container)
        : m_model(model), m_method(method), m_recipe(recipe), m_container(container),
          m_used(recipe.overrides.size(), false)
    {
    }

    Result<std::vector<WeightChoice>> all(std::vector<std::string>& warnings)
    {
        HALFTONE_CHECK(checkHead());
        HALFTONE_CHECK(select());
        const auto infos = m_model.weights()->all();
        const auto roles = m_model.roles();
        std::vector<WeightChoice> out(infos.size());
        for (std::size_t i = 0; i < infos.size(); ++i) {
            if (!m_selected[i]) continue;
            HALFTONE_TRY(choice, one(infos[i], roles[i], roles[i].id));
            out[i] = std::move(choice);
        }
        addWarnings(warnings);
        return out;
    }

    Result<WeightChoice> head(const WeightRole& role)
    {
        const WeightInfo& info = m_model.weights()->all()[role.weight];
        if (!m_recipe.quantizeHead || matchesAny(m_recipe.skip, "lm_head.weight", "head"))
            return WeightChoice{};
        return one(info, role, "head");
    }

private:
    Status checkHead() const
    {
        const WeightRole* embed = m_model.byId("embed");
        if (!m_recipe.quantizeHead || m_recipe.untie) return Ok{};
        if (m_model.config().tiedHead && embed != nullptr) {
            const WeightInfo& info = m_model.weights()->all()[embed->weight];
            return Error(
                Errc::InvalidArgument,
                fmt::format("head=quantize: the head is tied to {}: set untie=true to give it a tensor of "
                            "its own (more than the {} of the embedding alone), or embedding=quantize to "
                            "quantize both",
                            info.name, humanBytes(info.bytes)));
        }
        if (m_model.byId("head") == nullptr)
            return Error(Errc::InvalidArgument,
                         "head=quantize: no tensor of this checkpoint is an output head");
        return Ok{};
    }

    Status select()
    {
        const auto infos = m_model.weights()->all();
        const auto roles = m_model.roles();
        m_selected.assign(infos.size(), false);
        if (m_recipe.tensors.empty()) {
            for (const auto index : defaultWeights(m_model))
                m_selected[index] = true;
            m_noRoles = std::none_of(roles.begin(), roles.end(), [](const auto& r) { return r.linear; });
        }
        for (const auto& glob : m_recipe.tensors) {
            bool any = false;
            for (std::size_t i = 0; i < infos.size(); ++i)
                if (globMatch(glob, infos[i].name) || globMatch(glob, roles[i].id)) {
                    any = true;
                    m_selected[i] = true;
                }
            if (!any)
                return Error(
                    Errc::InvalidArgument,
                    fmt::format("tensors: \"{}\" matches no name and no id of this checkpoint", glob));
        }
        for (std::size_t i = 0; i < infos.size(); ++i) {
            // Embedding and head have switches of their own, so that "*" does not take them by accident.
            if (roles[i].id == "embed") m_selected[i] = m_recipe.quantizeEmbedding;
            if (roles[i].id == "head") m_selected[i] = m_recipe.quantizeHead;
            if (roles[i].bias || matchesAny(m_recipe.skip, infos[i].name, roles[i].id)) m_selected[i] = false;
        }
        return Ok{};
    }

    Result<WeightChoice> one(const WeightInfo& info, const WeightRole& role, const std::string& id)
    {
        WeightChoice choice;
        // A stack of experts is a matrix of all their rows to GGUF; other layouts have no word for it.
        const bool stack = info.shape.rank() == 3 && role.linear && m_container == Container::Gguf;
        if ((info.shape.rank() != 2 && !stack) || info.count() == 0) return choice;
        if (info.whyOpaque.empty() && !info.isDecodable()) return choice;
        choice.params = paramsFor(m_recipe, info.name, id, m_used);
        WeightInfo matrix = info;
        matrix.shape = Shape{info.shape.rows(), info.shape.cols()};
        auto format = m_method.target(matrix, choice.params);
        if (!format) return std::move(format).error().in("tensor " + info.name);
        HALFTONE_CHECK(fitsContainer(**format));
        const std::string wanted = (*format)->name();
        if (!info.whyOpaque.empty()) {
            choice.substitution = cannot(matrix, **format, info.whyOpaque);
            return choice;
        }
        if (isQuantized(info)) {
            if (!m_recipe.requantize)
                return Error(
                    Errc::Unsupported,
                    fmt::format("tensor {} is quantized already ({}, {:.1f} bits per weight{}{}): quantizing "
                                "again adds its error to the old one; start from the original, or set "
                                "requantize=true",
                                info.name, info.type, info.bitsPerWeight(), info.note.empty() ? "" : "; ",
                                info.note));
            ++m_again;
            m_againType = info.type;
        }
        if (m_container == Container::Safetensors && !outputName(info, role).ends_with(".weight")) {
            choice.substitution =
                cannot(matrix, **format, "the packed layout needs a name that ends in \".weight\"");
            return choice;
        }
        const std::int64_t block = (*format)->desc().blockSize;
        const bool planar = (*format)->desc().layout == FormatDesc::Layout::Planar;
        if (block > 0 && matrix.shape[1] % block != 0 && !(planar && m_recipe.shortGroups)) {
            choice.substitution = misfit(matrix, **format, block);
            return choice;
        }
        if (m_container == Container::Safetensors) {
            HALFTONE_TRY(layout, weightLayout(m_recipe.layout, **format));
            if (auto why = layout->whyNot(**format, matrix.shape); !why.empty()) {
                choice.substitution = cannot(matrix, **format, why);
                return choice;
            }
            choice.layout = layout;
        }
        if (block > 0 && matrix.shape[1] % block != 0) ++m_short;
        if (role.transposed) ++m_transposed;
        choice.format = *format;
        return choice;
    }

    // The name's ending is what counts, and every naming keeps it.
    static const std::string& outputName(const WeightInfo& info, const WeightRole& role)
    {
        static const std::string kHead = "lm_head.weight";
        return role.id == "head" ? kHead : info.name;
    }

    Status fitsContainer(const BlockFormat& format) const
    {
        const bool planar = format.desc().layout == FormatDesc::Layout::Planar;
        if (m_container == Container::Gguf && !format.ggufType())
            return Error(Errc::InvalidArgument,
                         fmt::format("gguf can't hold {}: choose format=q4_0 or q8_0, or write .safetensors",
                                     format.name()));
        if (m_container == Container::Safetensors && !planar)
            return Error(
                Errc::InvalidArgument,
                fmt::format("safetensors can't hold {}: choose format=int, or write .gguf", format.name()));
        if (m_container == Container::Safetensors) HALFTONE_CHECK(weightLayout(m_recipe.layout, format));
        return Ok{};
    }

    static Substitution cannot(const WeightInfo& info, const BlockFormat& format, const std::string& why)
    {
        Substitution s;
        s.name = info.name;
        s.length = info.shape[1];
        s.wanted = format.name();
        if (auto layout = format.layout(info.shape[0], info.shape[1])) s.wantedBytes = layout->total();
        s.paddedBytes = s.wantedBytes;
        s.text = why;
        return s;
    }

    static Substitution misfit(const WeightInfo& info, const BlockFormat& format, std::int64_t block)
    {
        Substitution s;
        s.name = info.name;
        s.length = info.shape[1];
        s.block = block;
        s.remainder = s.length % block;
        s.wanted = format.name();
        // The nominal cost: what these columns would take at the format's bits per weight.
        s.wantedBytes =
            static_cast<std::uint64_t>(static_cast<double>(info.count()) * format.bitsPerWeight() / 8.0);
        if (auto padded = format.layout(info.shape[0], s.length - s.remainder + block))
            s.paddedBytes = padded->total();
        return s;
    }

    void addWarnings(std::vector<std::string>& warnings) const
    {
        if (m_noRoles)
            warnings.emplace_back("no name of this checkpoint is known: all its matrices are taken");
        if (m_again > 0)
            warnings.push_back(fmt::format("double quantised: {} weight{} from {}", m_again,
                                           m_again == 1 ? "" : "s", m_againType));
        if (m_short > 0)
            warnings.push_back(fmt::format("{} weight{} a short last group: other runtimes refuse it",
                                           m_short, m_short == 1 ? " has" : "s have"));
        if (m_transposed > 0)
            warnings.push_back(
                fmt::format("{} weight{} stored [in, out] (Conv1D): groups run along the outputs, and "
                            "runtimes for packed linear layers won't load them",
                            m_transposed, m_transposed == 1 ? " is" : "s are"));
        for (std::size_t i = 0; i < m_used.size(); ++i)
            if (!m_used[i] && !(m_recipe.untie && globMatch(m_recipe.overrides[i].glob, "head")))
                warnings.push_back(fmt::format("overrides: \"{}\" matches no weight that is quantized",
                                               m_recipe.overrides[i].glob));
    }

    const Model& m_model;
    const QuantizeMethod& m_method;
    const QuantizeRecipe& m_recipe;
    Container m_container;
    std::vector<bool> m_used, m_selected;
    bool m_noRoles = false;
    int m_again = 0, m_short = 0, m_transposed = 0;
    std::string m_againType;
};

} // namespace

Result<std::vector<WeightChoice>> chooseWeights(const Model& model, const QuantizeMethod& method,
                                                const QuantizeRecipe& recipe, Container container,
                                                std::vector<std::string>& warnings)
{
    return Chooser(model, method, recipe, container).all(warnings);
}

Result<WeightChoice> chooseHead(const Model& model, const WeightRole& role, const QuantizeMethod& method,
                                const QuantizeRecipe& recipe, Container container)
{
    return Chooser(model, method, recipe, container).head(role);
}

Result<KeptAs> keepAs(const WeightInfo& info, Container from, Container to, std::optional<DType> wanted)
{
    KeptAs out;
    const std::string where = "tensor " + info.name;
    if (!info.whyOpaque.empty()) {
        if (from == to) return out;
        return Error(Errc::Unsupported,
                     fmt::format("{} can't be written to {}: {}", info.type, nameOf(to), info.whyOpaque))
            .in(where);
    }
    const bool vector = info.shape.rank() < 2;
    if (info.isPacked()) {
        if (from == to) return out;
        // F32 would be exact, and many times as large as what was chosen once; BF16 can't overflow.
        out.convertTo = wanted.value_or(to == Container::Gguf ? DType::F16 : DType::BF16);
        out.note = fmt::format("{} is {} in the source and becomes {}{}", info.name, info.type,
                               nameOf(*out.convertTo), wanted ? "" : " (keep-dtype=f32 is exact)");
        return out;
    }
    DType dtype = info.plain.value_or(DType::U8);
    const bool plainFloat =
        dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F64;
    if (plainFloat && wanted) dtype = *wanted;
    if (to == Container::Gguf) {
        // Runtimes read norms and biases as F32 only.
        if (vector && isFloat(dtype) && (from != to || (plainFloat && wanted))) dtype = DType::F32;
        if (!ggufTypeOf(dtype)) {
            if (!isEightBitFloat(dtype))
                return Error(Errc::InvalidArgument,
                             fmt::format("gguf can't hold {}: write .safetensors", nameOf(dtype)))
                    .in(where);
            out.note = fmt::format("{} is {}, which gguf can't hold: becomes F16", info.name, nameOf(dtype));
            dtype = DType::F16;
        }
    }
    if (dtype != info.plain) out.convertTo = dtype;
    return out;
}

} // namespace halftone
