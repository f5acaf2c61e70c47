// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace halftone {

/// Where the members of a JSON text stand. A path is "/steps/0/set/bits"; the root is "".
struct JsonLines {
    std::map<std::string, int, std::less<>> lines; ///< from 1, of the key or of the array's element
    std::vector<std::string> doubles;              ///< paths of keys that an object holds twice
};
/// `text` must be JSON that the parser took (comments allowed): this reads structure, not grammar.
HALFTONE_API JsonLines jsonLines(std::string_view text);

/// All that is wrong with a job file, in the order in which it stands there.
class JobProblems {
public:
    explicit JobProblems(const JsonLines& lines) : m_lines(lines) {}
    void add(const std::string& path, std::string_view what);
    bool empty() const { return m_found.empty(); }
    /// One line with all of them.
    Error error() const;

private:
    const JsonLines& m_lines;
    std::multimap<int, std::string> m_found;
};

} // namespace halftone
