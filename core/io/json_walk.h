// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace halftone {

/// A scalar of a JSON text. Unsigned whole numbers, negative ones, other numbers, text.
using JsonScalar = std::variant<std::nullptr_t, bool, std::uint64_t, std::int64_t, double, std::string_view>;

/// Gets the events of a JSON text, in order. A handler returns false to stop, after it has put the
/// reason into `why`.
class JsonVisitor {
public:
    virtual ~JsonVisitor() = default;
    virtual bool beginObject() = 0;
    virtual bool endObject() = 0;
    virtual bool beginArray() = 0;
    virtual bool endArray() = 0;
    virtual bool key(std::string& text) = 0;
    virtual bool value(const JsonScalar& scalar) = 0;
    std::string why;
};

/// Walks a text without building a tree: headers of 100,000 tensors are larger as a tree than as a file,
/// and a tree forgets double keys. BadFormat for what is no JSON, for nesting deeper than `maxDepth` and
/// for what the visitor refuses.
Status walkJson(std::string_view text, int maxDepth, JsonVisitor& visitor);

} // namespace halftone
