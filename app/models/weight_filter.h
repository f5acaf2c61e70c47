// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

/// What a filter may ask about one weight. Numbers that are not known yet are NaN and match nothing.
struct WeightFacts {
    std::string_view name, id, type, role, roleClass;
    int layer = -1;
    double elements = 0, bytes = 0, bits = 0;
    double snr = std::numeric_limits<double>::quiet_NaN();
    double mse = std::numeric_limits<double>::quiet_NaN();
};

/// A filter as typed: terms joined by "and". A term is a comparison (`layer in 3..7`, `snr < 20`,
/// `type = BF16`) or plain text that name or id must contain. Case does not count.
class WeightFilter {
public:
    WeightFilter() = default;
    /// InvalidArgument names the term, and the fields there are.
    static Result<WeightFilter> parse(std::string_view text);
    bool matches(const WeightFacts& facts) const;
    bool empty() const { return m_terms.empty(); }

private:
    enum class Field { Text, Name, Id, Type, Role, Class, Layer, Elements, Bytes, Bits, Snr, Mse };
    enum class Op { Contains, Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, Range };
    struct Term {
        Field field = Field::Text;
        Op op = Op::Contains;
        std::string text; ///< lower case
        double low = 0, high = 0;
    };
    static Result<Term> parseTerm(std::string_view text);
    static bool matches(const Term& term, const WeightFacts& facts);
    std::vector<Term> m_terms;
};

} // namespace halftone
