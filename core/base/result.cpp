// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/result.h"

namespace halftone {

int exitCode(Errc code)
{
    switch (code) {
    case Errc::Cancelled:
        return 130;
    case Errc::InvalidArgument:
    case Errc::NotFound:
    case Errc::Unsupported:
        return 2;
    case Errc::Io:
    case Errc::BadFormat:
        return 3;
    case Errc::CannotWrite:
        return 4;
    case Errc::Numeric:
        return 5;
    case Errc::CheckFailed:
        return 6;
    case Errc::OutOfMemory:
    case Errc::Device:
    case Errc::Internal:
        return 1;
    }
    return 1;
}

std::string Error::line() const
{
    std::string text;
    for (auto where = m_trail.rbegin(); where != m_trail.rend(); ++where)
        text += *where + ": ";
    text += m_what;
    // Names come from files, and a line break in one must not split the message.
    for (char& c : text)
        if (c == '\n' || c == '\r') c = ' ';
    return text;
}

} // namespace halftone
