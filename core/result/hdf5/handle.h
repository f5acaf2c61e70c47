// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/base/result.h"

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace halftone::hdf5 {

/// HDF5's hid_t, so that no header includes its C headers.
using Hid = std::int64_t;

/// Held around each use of the library: this build of HDF5 is serial. Also keeps the library from printing
/// its error stack, whose text goes into our Errors instead, and empties it at the end: the stack of a
/// thread that is gone would keep the library from closing at exit.
class HALFTONE_API Lock {
public:
    Lock();
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

private:
    std::unique_lock<std::mutex> m_lock;
};

/// Owns one HDF5 identifier. Made and destroyed under a Lock.
class Handle {
public:
    using Closer = int (*)(Hid);
    Handle() = default;
    Handle(Hid id, Closer closer) : m_id(id), m_closer(closer) {}
    ~Handle() { close(); }
    Handle(Handle&& other) noexcept : m_id(std::exchange(other.m_id, -1)), m_closer(other.m_closer) {}
    Handle& operator=(Handle&& other) noexcept
    {
        if (this != &other) {
            close();
            m_id = std::exchange(other.m_id, -1);
            m_closer = other.m_closer;
        }
        return *this;
    }
    explicit operator bool() const { return m_id >= 0; }
    Hid id() const { return m_id; }
    /// True when it was closed without an error, or was empty.
    bool close() { return m_id < 0 || m_closer(std::exchange(m_id, -1)) >= 0; }

private:
    Hid m_id = -1;
    Closer m_closer = nullptr;
};

Handle group(Hid id);
Handle dataset(Hid id);
Handle space(Hid id);
Handle type(Hid id);
Handle attribute(Hid id);
Handle properties(Hid id);
Handle object(Hid id);

/// What the library said last, innermost; empties its error stack.
std::string lastError();

/// Fixed-length UTF-8, padded with zero bytes: unlike variable-length text, it can be read from a broken
/// file without the library trusting lengths in its heap.
Handle textType(std::size_t bytes);

/// A link name for any text: bytes that are not safe in a path are written as %XX.
HALFTONE_API std::string linkName(std::string_view text);
HALFTONE_API std::string textOfLink(std::string_view link);

HALFTONE_API Status writeText(Hid object, const std::string& name, std::string_view text);
HALFTONE_API Status writeInt(Hid object, const std::string& name, std::int64_t value);
HALFTONE_API Status writeUnsigned(Hid object, const std::string& name, std::uint64_t value);
HALFTONE_API Status writeReal(Hid object, const std::string& name, double value);
/// An 8-bit enumeration FALSE, TRUE: what h5py reads as a bool.
HALFTONE_API Status writeBool(Hid object, const std::string& name, bool value);

} // namespace halftone::hdf5
