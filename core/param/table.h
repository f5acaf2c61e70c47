// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/param/schema.h"

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace halftone {

/// Ties a plain struct's fields to specs. Methods read the struct; all else reads the schema. The
/// struct's own initialiser is the default; Kind follows from the field unless the spec says Choice
/// or File.
template <class P> class ParamTable {
public:
    template <class M> ParamTable& field(M P::*member, ParamSpec spec)
    {
        spec.fallback = toValue(P{}.*member);
        if constexpr (std::is_same_v<M, bool>)
            spec.kind = ParamSpec::Kind::Bool;
        else if constexpr (std::is_integral_v<M>)
            spec.kind = ParamSpec::Kind::Int;
        else if constexpr (std::is_floating_point_v<M>)
            spec.kind = ParamSpec::Kind::Real;
        else if (!spec.choices.empty())
            spec.kind = ParamSpec::Kind::Choice;
        else if (spec.kind != ParamSpec::Kind::File)
            spec.kind = ParamSpec::Kind::Text;
        m_keys.push_back(spec.key);
        m_schema.add(std::move(spec));
        m_set.push_back([member](P& p, const ParamValue& v) {
            if constexpr (std::is_same_v<M, bool>)
                p.*member = *std::get_if<bool>(&v);
            else if constexpr (std::is_integral_v<M>)
                p.*member = static_cast<M>(*std::get_if<std::int64_t>(&v));
            else if constexpr (std::is_floating_point_v<M>)
                p.*member = static_cast<M>(*std::get_if<double>(&v));
            else
                p.*member = *std::get_if<std::string>(&v);
        });
        return *this;
    }
    const ParamSchema& schema() const& { return m_schema; }
    /// Can't fail: complete() made the list. Keys of other schemas are passed over.
    P bind(const ParamList& list) const
    {
        P p;
        for (const auto& [key, value] : list)
            for (std::size_t i = 0; i < m_set.size(); ++i)
                if (m_keys[i] == key) m_set[i](p, value);
        return p;
    }

private:
    template <class M> static ParamValue toValue(const M& m)
    {
        if constexpr (std::is_same_v<M, bool>)
            return m;
        else if constexpr (std::is_integral_v<M>)
            return static_cast<std::int64_t>(m);
        else if constexpr (std::is_floating_point_v<M>)
            return static_cast<double>(m);
        else
            return std::string(m);
    }
    ParamSchema m_schema;
    std::vector<std::string> m_keys;
    std::vector<std::function<void(P&, const ParamValue&)>> m_set;
};

} // namespace halftone
