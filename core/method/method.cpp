// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/method/method.h"

#include <algorithm>
#include <fmt/format.h>

namespace halftone {

namespace {

bool wellFormedId(std::string_view id)
{
    if (id.empty() || id.size() > 64 || id.front() < 'a' || id.front() > 'z') return false;
    return std::all_of(id.begin(), id.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
}

} // namespace

std::string_view nameOf(MethodFamily family)
{
    switch (family) {
    case MethodFamily::Quantize:
        return "quantize";
    case MethodFamily::FineTune:
        return "fine-tune";
    case MethodFamily::Analyse:
        return "analyse";
    case MethodFamily::Evaluate:
        return "evaluate";
    }
    return "unknown";
}

Status MethodRegistry::add(const MethodProvider& provider)
{
    if (provider.apiVersion() != kMethodApi)
        return Error(Errc::Unsupported,
                     fmt::format("made for method interface {}, this program has {}: build it "
                                 "again against this version",
                                 provider.apiVersion(), kMethodApi));
    const auto methods = provider.methods();
    std::vector<std::shared_ptr<const Method>> next = m_methods;
    for (const auto& method : methods) {
        if (!method) return Error(Errc::InvalidArgument, "hands over a null method");
        const auto& id = method->info().id;
        if (!wellFormedId(id))
            return Error(Errc::InvalidArgument,
                         fmt::format("method id \"{}\" is not lower-case letters, digits, _ or -", id));
        const auto taken = [&](const auto& other) { return other->info().id == id; };
        if (std::any_of(next.begin(), next.end(), taken))
            return Error(Errc::InvalidArgument,
                         fmt::format("method id \"{}\" is taken by another plugin", id));
        next.push_back(method);
    }
    // All or nothing: a provider that is refused leaves no half of itself behind.
    std::sort(next.begin(), next.end(),
              [](const auto& a, const auto& b) { return a->info().id < b->info().id; });
    m_methods = std::move(next);
    return Ok{};
}

Result<std::shared_ptr<const Method>> MethodRegistry::find(std::string_view id) const
{
    std::string known;
    for (const auto& method : m_methods) {
        if (method->info().id == id) return method;
        known += (known.empty() ? "" : ", ") + method->info().id;
    }
    return Error(Errc::NotFound, m_methods.empty()
                                     ? fmt::format("no method \"{}\": no method plugin was found", id)
                                     : fmt::format("no method \"{}\"; there is: {}", id, known));
}

} // namespace halftone
