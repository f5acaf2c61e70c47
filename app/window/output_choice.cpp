// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/output_choice.h"

#include "app/host/strings.h"
#include "core/method/weight_errors.h"

#include <QFileInfo>

#include <algorithm>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

constexpr const char* kFirstBlockType = "q4_0";

bool hasGgmlNames(const Model& model)
{
    const auto all = model.weights()->all();
    return std::any_of(all.begin(), all.end(),
                       [](const WeightInfo& info) { return info.name.starts_with("blk."); });
}

bool isGguf(const Model& model)
{
    const auto& checkpoint = model.weights()->checkpoint();
    return checkpoint && checkpoint->container() == Container::Gguf;
}

} // namespace

ParamTexts startTexts(const ParamSchema& schema, const Model* model)
{
    if (model == nullptr || !(isGguf(*model) || hasGgmlNames(*model))) return {};
    const ParamSpec* format = schema.find("format");
    if (format == nullptr) return {};
    if (std::find(format->choices.begin(), format->choices.end(), kFirstBlockType) == format->choices.end())
        return {};
    return {{"format", kFirstBlockType}};
}

Container containerFor(const QuantizeMethod& method, const ParamTexts& texts, const Model& model)
{
    ParamTexts own;
    for (const auto& entry : texts)
        if (method.schema().find(entry.first) != nullptr) own.push_back(entry);
    const auto params = method.schema().complete(own);
    const auto weights = defaultWeights(model);
    // Settings that are wrong, or nothing to quantize: a copy stays in its container.
    if (!params || weights.empty()) return isGguf(model) ? Container::Gguf : Container::Safetensors;
    const auto format = method.target(model.weights()->all()[weights.front()], *params);
    return format && (*format)->ggufType() ? Container::Gguf : Container::Safetensors;
}

QString suggestedOutput(const QString& modelPath, const QuantizeMethod& method, const ParamTexts& texts,
                        const Model& model)
{
    const QFileInfo from(modelPath);
    QString name = from.isDir() ? from.fileName() : from.completeBaseName();
    name += u'-' + toQt(method.info().id);
    for (const auto& [key, text] : texts) {
        if (key == "format" && text != "int") {
            name += u'-' + toQt(text);
            break;
        }
        if (key == "bits") name += toQt(text);
    }
    const bool gguf = containerFor(method, texts, model) == Container::Gguf;
    return from.absolutePath() + u'/' + name + (gguf ? u".gguf"_s : u".safetensors"_s);
}

} // namespace halftone
