// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace halftone {

using ParamValue = std::variant<bool, std::int64_t, double, std::string>;
/// Parsed, in range, defaults filled in, in the schema's order.
using ParamList = std::vector<std::pair<std::string, ParamValue>>;
/// What a person typed: key and text, unchecked.
using ParamTexts = std::vector<std::pair<std::string, std::string>>;

/// Data only. The form, the flags, the job file's check, the help page, the JSON Schema and the HDF5
/// attributes are all read from this; nothing about a parameter is written twice.
struct ParamSpec {
    enum class Kind : std::uint8_t { Bool, Int, Real, Choice, Text, File };
    enum class Level : std::uint8_t { Basic, Advanced };
    std::string key = {};   ///< "group-size": the --set key, the flag and the JSON member
    std::string label = {}; ///< "Group size"
    std::string help = {};  ///< one sentence with a full stop
    std::string unit = {};  ///< "bit", "token"; empty for a pure number
    Kind kind = Kind::Int;
    ParamValue fallback = {};
    double min = -std::numeric_limits<double>::infinity();
    double max = std::numeric_limits<double>::infinity();
    bool logScale = false; ///< a log slider, and a geometric default sweep
    Level level = Level::Basic;
    std::vector<std::string> choices = {};
    std::string enabledBy = {}; ///< "key" of a Bool declared above, or "key=choice|choice" of a Choice
};

class HALFTONE_API ParamSchema {
public:
    std::span<const ParamSpec> specs() const& { return m_specs; }
    std::span<const ParamSpec> specs() && = delete; // a view into a temporary would dangle in a range-for
    const ParamSpec* find(std::string_view key) const;
    void add(ParamSpec spec) { m_specs.push_back(std::move(spec)); }
    /// This schema's specs followed by `other`'s.
    ParamSchema joined(const ParamSchema& other) const;
    /// The one validator behind all doors: text in, typed value out, or InvalidArgument that names the
    /// key, the text and what is allowed ("bits: 9 is not in 2..8").
    Result<ParamValue> parse(std::string_view key, std::string_view text) const;
    /// Unknown keys (with the nearest known one), doubles, defaults. All problems in one error.
    Result<ParamList> complete(const ParamTexts& texts) const;
    /// Whether the form enables this field, given the other values.
    bool enabled(const ParamSpec& spec, const ParamList& values) const;

private:
    std::vector<ParamSpec> m_specs;
};

/// Text that parse() turns back into the same value.
HALFTONE_API std::string toText(const ParamValue& value);
HALFTONE_API const ParamValue* findParam(const ParamList& list, std::string_view key);
/// The part of `list` that belongs to `schema`.
HALFTONE_API ParamList paramsOf(const ParamList& list, const ParamSchema& schema);

} // namespace halftone
