// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"

#include <cassert>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace halftone {

/// What kind of failure it is. Programs turn it into an exit code with exitCode().
enum class Errc : std::uint8_t {
    Cancelled,
    InvalidArgument, ///< the caller asked for something that can't be: usage
    NotFound,        ///< no such file, tensor, method, device
    Io,              ///< reading failed
    CannotWrite,     ///< writing failed: space, permission
    BadFormat,       ///< an input file is broken or hostile
    Unsupported,     ///< well-formed, but this program can't do it
    OutOfMemory,
    Device,
    Numeric,     ///< NaN, Inf, a matrix that is not positive definite
    CheckFailed, ///< a check that was asked for failed: verify, no-fallback
    Internal     ///< our own bug
};

/// The documented exit code of the batch program for an error of this kind.
HALFTONE_API int exitCode(Errc code);

/// What went wrong, with the places it went through on the way up.
class HALFTONE_API Error {
public:
    Error(Errc code, std::string what) : m_code(code), m_what(std::move(what)) {}
    Errc code() const { return m_code; }
    /// What was wrong, what was expected, what to do; without the place.
    const std::string& what() const { return m_what; }
    /// Adds one frame of context, innermost first: "tensor blk.3.ffn_up.weight", "file model.gguf".
    Error in(std::string where) &&
    {
        m_trail.push_back(std::move(where));
        return std::move(*this);
    }
    const std::vector<std::string>& trail() const { return m_trail; }
    /// One line for a person: "model.gguf: tensor x: what". The same text in the window and headless.
    std::string line() const;

private:
    Errc m_code;
    std::string m_what;
    std::vector<std::string> m_trail;
};

/// A value or an Error. Nothing throws across a folder's edge; this is how failure travels.
template <class T> class [[nodiscard]] Result {
public:
    Result(T value) : m_state(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : m_state(std::in_place_index<1>, std::move(error)) {}
    explicit operator bool() const { return m_state.index() == 0; }
    T& operator*() &
    {
        assert(*this);
        return *std::get_if<0>(&m_state);
    }
    const T& operator*() const&
    {
        assert(*this);
        return *std::get_if<0>(&m_state);
    }
    T&& operator*() &&
    {
        assert(*this);
        return std::move(*std::get_if<0>(&m_state));
    }
    T* operator->() { return &**this; }
    const T* operator->() const { return &**this; }
    Error&& error() &&
    {
        assert(!*this);
        return std::move(*std::get_if<1>(&m_state));
    }
    const Error& error() const&
    {
        assert(!*this);
        return *std::get_if<1>(&m_state);
    }
    /// The same result with one more frame of context when it is an error.
    Result in(std::string where) &&
    {
        if (auto* e = std::get_if<1>(&m_state)) return std::move(*e).in(std::move(where));
        return std::move(*this);
    }

private:
    std::variant<T, Error> m_state;
};

struct Ok {};
using Status = Result<Ok>;

} // namespace halftone

// Early return; the only control-flow macros of the program.
#define HALFTONE_TRY(name, expr)                                                                             \
    auto name##_r = (expr);                                                                                  \
    if (!name##_r) return std::move(name##_r).error();                                                       \
    auto& name = *name##_r
#define HALFTONE_CHECK(expr)                                                                                 \
    if (auto s_ = (expr); !s_) return std::move(s_).error()
