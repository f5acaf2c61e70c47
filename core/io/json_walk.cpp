// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/json_walk.h"

#include "core/io/text_names.h"

#include <cstring>
#include <fmt/core.h>
#include <new>
#include <nlohmann/json.hpp>

namespace halftone {

namespace {

class Events {
public:
    using Json = nlohmann::json;
    Events(int maxDepth, JsonVisitor& visitor) : m_visitor(visitor), m_maxDepth(maxDepth) {}
    bool null() { return m_visitor.value(nullptr); }
    bool boolean(bool value) { return m_visitor.value(value); }
    bool number_integer(Json::number_integer_t value)
    {
        return m_visitor.value(static_cast<std::int64_t>(value));
    }
    bool number_unsigned(Json::number_unsigned_t value)
    {
        return m_visitor.value(static_cast<std::uint64_t>(value));
    }
    bool number_float(Json::number_float_t value, const std::string&) { return m_visitor.value(value); }
    bool string(std::string& value) { return m_visitor.value(std::string_view(value)); }
    bool binary(Json::binary_t&) { return false; }
    bool start_object(std::size_t) { return deeper() && m_visitor.beginObject(); }
    bool end_object()
    {
        --m_depth;
        return m_visitor.endObject();
    }
    bool start_array(std::size_t) { return deeper() && m_visitor.beginArray(); }
    bool end_array()
    {
        --m_depth;
        return m_visitor.endArray();
    }
    bool key(std::string& text) { return m_visitor.key(text); }
    bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception&)
    {
        m_visitor.why = fmt::format("is no valid JSON at byte {}, near \"{}\"", position, shownName(token));
        return false;
    }

private:
    bool deeper()
    {
        if (++m_depth <= m_maxDepth) return true;
        m_visitor.why = fmt::format("is nested deeper than {} levels", m_maxDepth);
        return false;
    }
    JsonVisitor& m_visitor;
    int m_maxDepth;
    int m_depth = 0;
};

} // namespace

Status walkJson(std::string_view text, int maxDepth, JsonVisitor& visitor)
{
    // The parser takes a zero byte for the end of the text.
    if (!text.empty() && std::memchr(text.data(), 0, text.size()) != nullptr)
        return Error(Errc::BadFormat, "is no valid JSON: it holds a zero byte");
    try {
        Events events(maxDepth, visitor);
        if (nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &events)) return Ok{};
        return Error(Errc::BadFormat, visitor.why.empty() ? "is no valid JSON" : visitor.why);
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, "not enough memory to read the JSON text");
    } catch (const std::exception& e) {
        return Error(Errc::BadFormat, fmt::format("is no valid JSON: {}", shownName(e.what())));
    }
}

} // namespace halftone
