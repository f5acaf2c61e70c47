// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/hdf5/handle.h"

#include "core/base/text.h"
#include "core/result/table_check.h"

#include <fmt/format.h>
#include <hdf5.h>
#include <type_traits>

namespace halftone::hdf5 {

static_assert(std::is_same_v<hid_t, Hid> && std::is_same_v<herr_t, int>);

namespace {

std::mutex& libraryMutex()
{
    static std::mutex mutex;
    return mutex;
}

/// Takes the description of the innermost frame: the walk goes from there outwards.
herr_t innermost(unsigned depth, const H5E_error2_t* frame, void* out)
{
    if (depth == 0 && frame->desc != nullptr) *static_cast<std::string*>(out) = frame->desc;
    return 0;
}

Status writeAttribute(Hid owner, const std::string& name, Hid fileType, Hid memoryType, const void* value)
{
    const Handle scalar = space(H5Screate(H5S_SCALAR));
    const Handle a =
        attribute(H5Acreate2(owner, name.c_str(), fileType, scalar.id(), H5P_DEFAULT, H5P_DEFAULT));
    if (!a || H5Awrite(a.id(), memoryType, value) < 0)
        return Error(Errc::CannotWrite, fmt::format("attribute {}: {}", name, lastError()));
    return Ok{};
}

bool plain(char c)
{
    const auto u = static_cast<unsigned char>(c);
    return u > 0x20 && u != 0x7F && c != '/' && c != '%';
}

int hexDigit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

} // namespace

Lock::Lock() : m_lock(libraryMutex()) { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }
Lock::~Lock() { H5Eclear2(H5E_DEFAULT); }

Handle group(Hid id) { return {id, H5Gclose}; }
Handle dataset(Hid id) { return {id, H5Dclose}; }
Handle space(Hid id) { return {id, H5Sclose}; }
Handle type(Hid id) { return {id, H5Tclose}; }
Handle attribute(Hid id) { return {id, H5Aclose}; }
Handle properties(Hid id) { return {id, H5Pclose}; }
Handle object(Hid id) { return {id, H5Oclose}; }

std::string lastError()
{
    std::string text;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &text);
    H5Eclear2(H5E_DEFAULT);
    return text.empty() ? "HDF5 failed" : "HDF5: " + text;
}

Handle textType(std::size_t bytes)
{
    Handle t = type(H5Tcopy(H5T_C_S1));
    if (H5Tset_size(t.id(), bytes == 0 ? 1 : bytes) < 0 || H5Tset_cset(t.id(), H5T_CSET_UTF8) < 0 ||
        H5Tset_strpad(t.id(), H5T_STR_NULLPAD) < 0)
        return {};
    return t;
}

std::string linkName(std::string_view text)
{
    const std::string clean = cleanText(text);
    // "." means the group itself, so a name made of dots alone is escaped whole.
    const bool dots = clean.find_first_not_of('.') == std::string::npos;
    std::string out;
    for (char c : clean) {
        // Blanks inside are harmless to HDF5 and readable in h5dump.
        if ((plain(c) || c == ' ') && !dots)
            out += c;
        else
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

std::string textOfLink(std::string_view link)
{
    std::string out;
    for (std::size_t i = 0; i < link.size(); ++i) {
        if (link[i] == '%' && i + 2 < link.size()) {
            const int high = hexDigit(link[i + 1]), low = hexDigit(link[i + 2]);
            if (high >= 0 && low >= 0) {
                out += static_cast<char>(high * 16 + low);
                i += 2;
                continue;
            }
        }
        out += link[i];
    }
    return out;
}

Status writeText(Hid owner, const std::string& name, std::string_view text)
{
    const std::string clean = cleanText(text);
    const Handle t = textType(clean.size());
    return writeAttribute(owner, name, t.id(), t.id(), clean.empty() ? "" : clean.data());
}

Status writeInt(Hid owner, const std::string& name, std::int64_t value)
{
    return writeAttribute(owner, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

Status writeUnsigned(Hid owner, const std::string& name, std::uint64_t value)
{
    return writeAttribute(owner, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, &value);
}

Status writeReal(Hid owner, const std::string& name, double value)
{
    return writeAttribute(owner, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

Status writeBool(Hid owner, const std::string& name, bool value)
{
    const Handle t = type(H5Tenum_create(H5T_STD_I8LE));
    const std::int8_t no = 0, yes = 1, stored = value ? 1 : 0;
    H5Tenum_insert(t.id(), "FALSE", &no);
    H5Tenum_insert(t.id(), "TRUE", &yes);
    return writeAttribute(owner, name, t.id(), t.id(), &stored);
}

} // namespace halftone::hdf5
