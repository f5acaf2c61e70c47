// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/job_lines.h"

#include <algorithm>
#include <fmt/format.h>

namespace halftone {

namespace {

/// Deeper values are not looked into: no job file has any, and paths would grow without bound.
constexpr std::size_t kMostDepth = 64;

class Scanner {
public:
    explicit Scanner(std::string_view text) : m_text(text) {}

    JsonLines run()
    {
        while (skipBlank() && m_open.size() <= kMostDepth) {
            switch (m_text[m_at]) {
            case '{':
            case '[': {
                const bool object = m_text[m_at++] == '{';
                m_open.push_back({value(), object, object, 0, {}});
                break;
            }
            case '}':
            case ']':
                ++m_at;
                if (!m_open.empty()) m_open.pop_back();
                break;
            case ',':
                ++m_at;
                if (!m_open.empty()) m_open.back().wantsKey = m_open.back().object;
                break;
            case ':':
                ++m_at;
                break;
            case '"':
                if (const auto text = string(); !m_open.empty() && m_open.back().wantsKey)
                    key(text);
                else
                    value();
                break;
            default:
                value();
                word();
            }
        }
        return std::move(m_found);
    }

private:
    struct Level {
        std::string path;
        bool object, wantsKey;
        std::size_t elements; ///< of an array, so far
        std::string key;      ///< of the member that is being read
    };

    /// To the next character that is neither white space nor comment; false at the end.
    bool skipBlank()
    {
        while (m_at < m_text.size()) {
            const char c = m_text[m_at];
            std::size_t end = m_at + 1;
            if (m_text.substr(m_at, 2) == "//")
                end = m_text.find('\n', m_at);
            else if (m_text.substr(m_at, 2) == "/*")
                end = m_text.find("*/", m_at + 2);
            else if (c != ' ' && c != '\t' && c != '\r' && c != '\n' && c != '/')
                return true;
            skipTo(std::min(end, m_text.size()));
        }
        return false;
    }

    void skipTo(std::size_t end)
    {
        m_line += static_cast<int>(std::count(m_text.begin() + static_cast<std::ptrdiff_t>(m_at),
                                              m_text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
        m_at = end;
    }

    /// The string at the cursor. Escapes stay as they are: keys of job files need none.
    std::string string()
    {
        const std::size_t begin = ++m_at;
        while (m_at < m_text.size() && m_text[m_at] != '"')
            m_at += m_text[m_at] == '\\' ? 2 : 1;
        const std::size_t end = std::min(m_at, m_text.size());
        m_at = std::min(end + 1, m_text.size());
        return std::string(m_text.substr(begin, end - begin));
    }

    /// A number, true, false or null.
    void word()
    {
        const auto end = m_text.find_first_of(",]}/ \t\r\n", m_at);
        m_at = std::max(m_at + 1, std::min(end, m_text.size()));
    }

    void key(const std::string& text)
    {
        auto& level = m_open.back();
        level.wantsKey = false;
        level.key = text;
        const std::string path = level.path + "/" + text;
        if (!m_found.lines.emplace(path, m_line).second) m_found.doubles.push_back(path);
    }

    /// Path of the value at the cursor; elements of arrays are entered here, members by their key.
    std::string value()
    {
        if (m_open.empty()) {
            m_found.lines.emplace("", m_line);
            return {};
        }
        auto& level = m_open.back();
        if (level.object) return level.path + "/" + level.key;
        std::string path = level.path + "/" + std::to_string(level.elements++);
        m_found.lines.emplace(path, m_line);
        return path;
    }

    std::string_view m_text;
    std::size_t m_at = 0;
    int m_line = 1;
    std::vector<Level> m_open;
    JsonLines m_found;
};

/// "/steps/0/set/bits" as people write it: "steps[0].set.bits".
std::string readable(const std::string& path)
{
    std::string out;
    std::size_t begin = 0;
    while (begin < path.size()) {
        const auto end = std::min(path.find('/', begin + 1), path.size());
        const std::string part = path.substr(begin + 1, end - begin - 1);
        const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
        if (number)
            out += "[" + part + "]";
        else
            out += (out.empty() ? "" : ".") + part;
        begin = end;
    }
    return out;
}

} // namespace

JsonLines jsonLines(std::string_view text) { return Scanner(text).run(); }

void JobProblems::add(const std::string& path, std::string_view what)
{
    // A member that is missing has no line: its object's stands for it.
    std::string at = path;
    auto line = m_lines.lines.find(at);
    while (line == m_lines.lines.end() && !at.empty()) {
        at.resize(at.rfind('/'));
        line = m_lines.lines.find(at);
    }
    const int number = line == m_lines.lines.end() ? 1 : line->second;
    const std::string name = readable(path);
    m_found.emplace(number, fmt::format("line {}: {}{}{}", number, name, name.empty() ? "" : ": ", what));
}

Error JobProblems::error() const
{
    std::string all;
    for (const auto& [line, text] : m_found)
        all += (all.empty() ? "" : "; ") + text;
    return Error(Errc::InvalidArgument, all);
}

} // namespace halftone
