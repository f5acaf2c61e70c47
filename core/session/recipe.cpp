// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/recipe.h"

#include "core/base/text.h"
#include "core/io/weight_layout.h"
#include "core/param/table.h"
#include "core/session/quantize.h"

#include <algorithm>
#include <fmt/format.h>

namespace halftone {

namespace {

struct Params {
    std::string tensors, skip;
    std::string embedding = "keep", head = "keep";
    bool untie = false;
    std::string fallback = "keep", remainder = "keep", keptDType = "source";
    std::string layout = "auto";
    std::string overrides;
    bool requantize = false;
};

const ParamTable<Params>& table()
{
    using Level = ParamSpec::Level;
    static const ParamTable<Params> made = [] {
        ParamTable<Params> t;
        t.field(&Params::tensors,
                {.key = "tensors",
                 .label = "Tensors",
                 .help = "Patterns (* and ?) over names and ids, separated by blanks; empty takes the linear "
                         "weights. Embedding and head follow their own settings."});
        t.field(&Params::skip, {.key = "skip",
                                .label = "Leave out",
                                .help = "Patterns of tensors to keep as they are, whatever else is said.",
                                .level = Level::Advanced});
        t.field(&Params::embedding, {.key = "embedding",
                                     .label = "Embedding",
                                     .help = "Whether the token embedding is quantized, too.",
                                     .choices = {"keep", "quantize"}});
        t.field(&Params::head, {.key = "head",
                                .label = "Output head",
                                .help = "Whether the output head is quantized, too; a tied head needs untie.",
                                .choices = {"keep", "quantize"}});
        t.field(&Params::untie, {.key = "untie",
                                 .label = "Untie the head",
                                 .help = "Writes a head of its own for a model whose head is the embedding.",
                                 .level = Level::Advanced});
        t.field(&Params::fallback,
                {.key = "fallback",
                 .label = "When it does not fit",
                 .help = "A weight that can't take the format: keep it as it is, write F16, or stop (error).",
                 .choices = {"keep", "error", "f16"}});
        t.field(&Params::remainder,
                {.key = "remainder",
                 .label = "Columns left over",
                 .help = "Columns that are no multiple of the group: such a weight does not fit, or its last "
                         "group is short, which other runtimes refuse.",
                 .level = Level::Advanced,
                 .choices = {"keep", "short-group"}});
        t.field(&Params::keptDType,
                {.key = "keep-dtype",
                 .label = "Type of the others",
                 .help = "Number type of the weights that are not quantized; source keeps "
                         "theirs, or takes a half for blocks the output can't hold.",
                 .level = Level::Advanced,
                 .choices = {"source", "bf16", "f16", "f32"}});
        t.field(&Params::layout,
                {.key = "layout",
                 .label = "Layout on disk",
                 .help =
                     "How safetensors hold quantized weights: auto takes the layout of compressed-tensors "
                     "that goes with the format, others are named after the programs that read them.",
                 .level = Level::Advanced,
                 .choices = weightLayoutChoices()});
        t.field(
            &Params::overrides,
            {.key = "overrides",
             .label = "Exceptions",
             .help =
                 "Other method parameters for some tensors: \"pattern:key=value,key=value; pattern:...\"; "
                 "the last that matches wins.",
             .level = Level::Advanced});
        t.field(&Params::requantize,
                {.key = "requantize",
                 .label = "Quantize again",
                 .help = "Allows weights that are already quantized; their error adds to the new one.",
                 .level = Level::Advanced});
        return t;
    }();
    return made;
}

std::string_view trimmed(std::string_view text)
{
    const auto from = text.find_first_not_of(" \t\n");
    if (from == std::string_view::npos) return {};
    return text.substr(from, text.find_last_not_of(" \t\n") - from + 1);
}

// The parts of a text between separators, trimmed, empty ones left out.
std::vector<std::string_view> parts(std::string_view text, char separator)
{
    std::vector<std::string_view> out;
    while (!text.empty()) {
        const auto end = std::min(text.find(separator), text.size());
        if (const auto part = trimmed(text.substr(0, end)); !part.empty()) out.push_back(part);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

Result<Override> readOverride(std::string_view entry, const ParamSchema& schema)
{
    const auto colon = entry.find(':');
    if (colon == std::string_view::npos || trimmed(entry.substr(0, colon)).empty())
        return Error(Errc::InvalidArgument,
                     fmt::format("overrides: \"{}\" has no pattern: write pattern:key=value", entry));
    Override out;
    out.glob = trimmed(entry.substr(0, colon));
    for (const auto setting : parts(entry.substr(colon + 1), ',')) {
        const auto equals = setting.find('=');
        if (equals == std::string_view::npos)
            return Error(Errc::InvalidArgument,
                         fmt::format("overrides: \"{}\" is no key=value (for {})", setting, out.glob));
        const std::string key(trimmed(setting.substr(0, equals)));
        if (schema.find(key) == nullptr) {
            std::string known;
            for (const auto& spec : schema.specs())
                known += (known.empty() ? "" : ", ") + spec.key;
            return Error(Errc::InvalidArgument,
                         fmt::format("overrides: the method has no parameter \"{}\" (for {}); there is: {}",
                                     key, out.glob, known));
        }
        auto value = schema.parse(key, trimmed(setting.substr(equals + 1)));
        if (!value) return std::move(value).error().in("overrides: " + out.glob);
        out.values.emplace_back(key, std::move(*value));
    }
    if (out.values.empty())
        return Error(Errc::InvalidArgument,
                     fmt::format("overrides: \"{}\" sets nothing: write pattern:key=value", entry));
    return out;
}

} // namespace

const ParamSchema& quantizeSchema() { return table().schema(); }

std::vector<std::string> splitGlobs(std::string_view text)
{
    std::vector<std::string> out;
    for (const auto word : parts(text, ','))
        for (const auto glob : parts(word, ' '))
            out.emplace_back(glob);
    return out;
}

bool matchesAny(const std::vector<std::string>& globs, std::string_view name, std::string_view id)
{
    return std::any_of(globs.begin(), globs.end(),
                       [&](const auto& glob) { return globMatch(glob, name) || globMatch(glob, id); });
}

Result<QuantizeRecipe> readRecipe(const ParamList& params, const ParamSchema& methodSchema)
{
    const Params p = table().bind(params);
    QuantizeRecipe out;
    out.tensors = splitGlobs(p.tensors);
    out.skip = splitGlobs(p.skip);
    out.quantizeEmbedding = p.embedding == "quantize";
    out.quantizeHead = p.head == "quantize";
    out.untie = p.untie;
    out.requantize = p.requantize;
    out.fallback = p.fallback == "error" ? QuantizeRecipe::Fallback::Error
                   : p.fallback == "f16" ? QuantizeRecipe::Fallback::F16
                                         : QuantizeRecipe::Fallback::Keep;
    out.layout = p.layout;
    out.shortGroups = p.remainder == "short-group";
    if (p.keptDType == "bf16") out.keptDType = DType::BF16;
    if (p.keptDType == "f16") out.keptDType = DType::F16;
    if (p.keptDType == "f32") out.keptDType = DType::F32;
    for (const auto entry : parts(p.overrides, ';')) {
        HALFTONE_TRY(one, readOverride(entry, methodSchema));
        out.overrides.push_back(std::move(one));
    }
    out.methodParams = paramsOf(params, methodSchema);
    return out;
}

ParamList paramsFor(const QuantizeRecipe& recipe, std::string_view name, std::string_view id,
                    std::vector<bool>& used)
{
    ParamList out = recipe.methodParams;
    for (std::size_t i = 0; i < recipe.overrides.size(); ++i) {
        const Override& override = recipe.overrides[i];
        if (!globMatch(override.glob, name) && !globMatch(override.glob, id)) continue;
        used[i] = true;
        for (const auto& [key, value] : override.values)
            for (auto& entry : out)
                if (entry.first == key) entry.second = value;
    }
    return out;
}

} // namespace halftone
