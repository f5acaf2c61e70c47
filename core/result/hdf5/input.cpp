// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/hdf5/input.h"

#include "core/base/checked.h"
#include "core/base/text.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <hdf5.h>

namespace halftone::hdf5 {

namespace {

constexpr std::size_t kLongestText = std::size_t{1} << 26;
constexpr std::size_t kLongestName = std::size_t{1} << 16;
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
/// Deflate makes at most 1,032 bytes from one; a dataset that claims more than that is a bomb.
constexpr std::uint64_t kMostInflation = 1100;

Error broken(std::string text) { return {Errc::BadFormat, std::move(text)}; }

/// Text of a fixed length: without its padding, and only if it is UTF-8.
Result<std::string> unpadded(const char* data, std::size_t bytes)
{
    std::string text(data, bytes);
    text.resize(text.find_last_not_of('\0') + 1);
    if (!isUtf8(text)) return broken("a text that is not UTF-8");
    return text;
}

/// Size of a fixed-length text type, or an error for any other type.
Result<std::size_t> textBytes(Hid t)
{
    const std::size_t bytes = H5Tget_size(t);
    if (H5Tget_class(t) != H5T_STRING || H5Tis_variable_str(t) != 0 || bytes == 0 || bytes > kLongestText)
        return broken("not a text of fixed length");
    return bytes;
}

Status checkScalar(Hid attribute)
{
    const Handle s = space(H5Aget_space(attribute));
    if (!s || H5Sget_simple_extent_npoints(s.id()) != 1) return broken("not a single value");
    return Ok{};
}

Result<std::string> textOf(const Handle& a)
{
    HALFTONE_CHECK(checkScalar(a.id()));
    const Handle t = type(H5Aget_type(a.id()));
    HALFTONE_TRY(bytes, textBytes(t.id()));
    std::string buffer(bytes, '\0');
    if (H5Aread(a.id(), t.id(), buffer.data()) < 0) return broken(lastError());
    return unpadded(buffer.data(), bytes);
}

template <class T> Result<T> numberOf(const Handle& a, Hid fileType, Hid memoryType)
{
    HALFTONE_CHECK(checkScalar(a.id()));
    const Handle t = type(H5Aget_type(a.id()));
    if (H5Tequal(t.id(), fileType) <= 0) return broken("a number of another type");
    T value{};
    if (H5Aread(a.id(), memoryType, &value) < 0) return broken(lastError());
    return value;
}

Result<ParamValue> paramOf(const Handle& a)
{
    const Handle t = type(H5Aget_type(a.id()));
    switch (H5Tget_class(t.id())) {
    case H5T_STRING: {
        HALFTONE_TRY(text, textOf(a));
        return ParamValue(std::move(text));
    }
    case H5T_INTEGER: {
        HALFTONE_TRY(value, numberOf<std::int64_t>(a, H5T_STD_I64LE, H5T_NATIVE_INT64));
        return ParamValue(value);
    }
    case H5T_FLOAT: {
        HALFTONE_TRY(value, numberOf<double>(a, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE));
        return ParamValue(value);
    }
    case H5T_ENUM: {
        HALFTONE_CHECK(checkScalar(a.id()));
        std::int8_t value = 0;
        if (H5Tget_size(t.id()) != sizeof value || H5Aread(a.id(), t.id(), &value) < 0)
            return broken("an enumeration that is not false or true");
        return ParamValue(value != 0);
    }
    default:
        return broken("a parameter of an unknown type");
    }
}

} // namespace

Status Input::open(const std::string& path)
{
    const Handle access = properties(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG);
    // A reader takes no lock: finished results never change, and some network folders have no locks.
    H5Pset_file_locking(access.id(), false, true);
    m_file = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose);
    if (m_file) return Ok{};
    return broken(
        fmt::format("not an HDF5 file that can be read: it was cut off, a killed run left it, or it is "
                    "something else ({})",
                    lastError()));
}

Result<std::vector<std::string>> Input::links(const std::string& place) const
{
    const Handle g = group(H5Gopen2(m_file.id(), place.c_str(), H5P_DEFAULT));
    H5G_info_t info{};
    if (!g || H5Gget_info(g.id(), &info) < 0) return broken(fmt::format("group {}: {}", place, lastError()));
    const Handle creation = properties(H5Gget_create_plist(g.id()));
    unsigned order = 0;
    H5Pget_link_creation_order(creation.id(), &order);
    const H5_index_t index = (order & H5P_CRT_ORDER_INDEXED) != 0 ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    std::vector<std::string> names;
    for (hsize_t i = 0; i < info.nlinks; ++i) {
        H5L_info_t link{};
        if (H5Lget_info_by_idx(g.id(), ".", index, H5_ITER_INC, i, &link, H5P_DEFAULT) < 0)
            return broken(fmt::format("group {}: {}", place, lastError()));
        if (link.type != H5L_TYPE_HARD)
            return broken(fmt::format("group {} holds a link to another place", place));
        const auto size = H5Lget_name_by_idx(g.id(), ".", index, H5_ITER_INC, i, nullptr, 0, H5P_DEFAULT);
        if (size <= 0 || static_cast<std::size_t>(size) > kLongestName)
            return broken(fmt::format("group {} holds a name of {} bytes", place, size));
        std::string name(static_cast<std::size_t>(size), '\0');
        if (H5Lget_name_by_idx(g.id(), ".", index, H5_ITER_INC, i, name.data(), name.size() + 1,
                               H5P_DEFAULT) < 0)
            return broken(fmt::format("group {}: {}", place, lastError()));
        // Names that we would write in another way can't be found again under what they stand for.
        if (linkName(textOfLink(name)) != name)
            return broken(fmt::format("group {} holds an object with an odd name", place));
        names.push_back(std::move(name));
    }
    return names;
}

bool Input::hasAttribute(const std::string& place, const std::string& name) const
{
    return H5Aexists_by_name(m_file.id(), place.c_str(), name.c_str(), H5P_DEFAULT) > 0;
}

Result<Handle> Input::attribute(const std::string& place, const std::string& name) const
{
    Handle a =
        hdf5::attribute(H5Aopen_by_name(m_file.id(), place.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT));
    if (!a) return broken(fmt::format("{} has no attribute {}", place, name));
    return a;
}

Result<std::int64_t> Input::readInt(const std::string& place, const std::string& name) const
{
    HALFTONE_TRY(a, attribute(place, name));
    return numberOf<std::int64_t>(a, H5T_STD_I64LE, H5T_NATIVE_INT64)
        .in(fmt::format("{} of {}", name, place));
}

Result<std::uint64_t> Input::readUnsigned(const std::string& place, const std::string& name) const
{
    HALFTONE_TRY(a, attribute(place, name));
    return numberOf<std::uint64_t>(a, H5T_STD_U64LE, H5T_NATIVE_UINT64)
        .in(fmt::format("{} of {}", name, place));
}

Result<std::string> Input::readText(const std::string& place, const std::string& name) const
{
    HALFTONE_TRY(a, attribute(place, name));
    return textOf(a).in(fmt::format("{} of {}", name, place));
}

Result<ParamList> Input::readParams(const std::string& place) const
{
    const Handle g = group(H5Gopen2(m_file.id(), place.c_str(), H5P_DEFAULT));
    H5O_info_t info{};
    if (!g || H5Oget_info2(g.id(), &info, H5O_INFO_NUM_ATTRS) < 0)
        return broken(fmt::format("group {}: {}", place, lastError()));
    const Handle creation = properties(H5Gget_create_plist(g.id()));
    unsigned order = 0;
    H5Pget_attr_creation_order(creation.id(), &order);
    const H5_index_t index = (order & H5P_CRT_ORDER_INDEXED) != 0 ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    ParamList list;
    for (hsize_t i = 0; i < info.num_attrs; ++i) {
        const Handle a =
            hdf5::attribute(H5Aopen_by_idx(g.id(), ".", index, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT));
        const auto size = a ? H5Aget_name(a.id(), 0, nullptr) : -1;
        if (size <= 0 || static_cast<std::size_t>(size) > kLongestName)
            return broken(fmt::format("group {}: {}", place, lastError()));
        std::string name(static_cast<std::size_t>(size), '\0');
        H5Aget_name(a.id(), name.size() + 1, name.data());
        auto value = paramOf(a).in(fmt::format("parameter {}", textOfLink(name)));
        if (!value) return std::move(value).error();
        list.emplace_back(textOfLink(name), *std::move(value));
    }
    return list;
}

Input::Content Input::contentOf(Column::Type t)
{
    if (t == Column::Type::Integer) return Content::Integer;
    if (t == Column::Type::Name) return Content::Name;
    return Content::Real;
}

Result<Input::Opened> Input::dataset(const std::string& place, Content content) const
{
    Opened out;
    out.data = hdf5::dataset(H5Dopen2(m_file.id(), place.c_str(), H5P_DEFAULT));
    if (!out.data) return broken(fmt::format("there is no dataset {}", place));
    const Handle t = type(H5Dget_type(out.data.id()));
    const std::array<Hid, 4> types{H5T_IEEE_F64LE, H5T_IEEE_F32LE, H5T_STD_I64LE, H5T_STD_I32LE};
    if (content == Content::Text) {
        HALFTONE_CHECK(textBytes(t.id()).in(place));
    } else if (H5Tequal(t.id(), types[static_cast<std::size_t>(content)]) <= 0) {
        return broken(fmt::format("dataset {} has values of another type", place));
    }
    out.valueBytes = H5Tget_size(t.id());
    const Handle s = space(H5Dget_space(out.data.id()));
    const H5S_class_t shape = H5Sget_simple_extent_type(s.id());
    const int rank = H5Sget_simple_extent_ndims(s.id());
    if ((shape != H5S_SIMPLE && shape != H5S_SCALAR) || rank < 0 || rank > H5S_MAX_RANK)
        return broken(fmt::format("dataset {} has no shape", place));
    std::array<hsize_t, H5S_MAX_RANK> extent{};
    if (H5Sget_simple_extent_dims(s.id(), extent.data(), nullptr) < 0)
        return broken(fmt::format("dataset {}: {}", place, lastError()));
    std::optional<std::size_t> bytes = out.valueBytes;
    for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
        if (bytes) bytes = checkedMul<std::size_t>(*bytes, extent[d]);
        if (!bytes || extent[d] > (hsize_t{1} << 62))
            return broken(fmt::format("dataset {} is larger than any file", place));
        out.dims.push_back(static_cast<std::int64_t>(extent[d]));
        out.count *= extent[d];
    }
    HALFTONE_CHECK(checkStorage(out).in(fmt::format("dataset {}", place)));
    return out;
}

Status Input::checkStorage(const Opened& opened)
{
    const Handle creation = properties(H5Dget_create_plist(opened.data.id()));
    const H5D_layout_t layout = H5Pget_layout(creation.id());
    if (layout != H5D_COMPACT && layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED)
        return broken("its values are not in this file");
    if (H5Pget_external_count(creation.id()) != 0) return broken("its values are in another file");
    const int filters = layout == H5D_CHUNKED ? H5Pget_nfilters(creation.id()) : 0;
    std::uint64_t inflation = 1;
    for (int f = 0; f < filters; ++f) {
        unsigned flags = 0, config = 0;
        std::size_t values = 0;
        const H5Z_filter_t filter = H5Pget_filter2(creation.id(), static_cast<unsigned>(f), &flags, &values,
                                                   nullptr, 0, nullptr, &config);
        if (filter == H5Z_FILTER_DEFLATE && inflation == 1)
            inflation = kMostInflation;
        else if (filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32)
            return Error(Errc::Unsupported, fmt::format("stored through the unknown filter {}", filter));
    }
    const std::uint64_t bytes = static_cast<std::uint64_t>(opened.count) * opened.valueBytes;
    const hsize_t stored = H5Dget_storage_size(opened.data.id());
    const auto most = checkedMul<std::uint64_t>(stored, inflation);
    if (bytes != 0 && most && *most < bytes)
        return broken(fmt::format("it claims {} but holds {}", humanBytes(bytes), humanBytes(stored)));
    return Ok{};
}

Result<std::vector<std::int64_t>> Input::dims(const std::string& place, Column::Type t) const
{
    HALFTONE_TRY(opened, dataset(place, contentOf(t)));
    return opened.dims;
}

Result<std::vector<double>> Input::reals(const std::string& place, Column::Type t) const
{
    HALFTONE_TRY(opened, dataset(place, contentOf(t)));
    std::vector<double> values(opened.count);
    if (opened.count != 0 &&
        H5Dread(opened.data.id(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
        return broken(fmt::format("dataset {}: {}", place, lastError()));
    return values;
}

Result<ArrayData> Input::array(const std::string& place, const std::string& name) const
{
    HALFTONE_TRY(opened, dataset(place, Content::Float));
    HALFTONE_TRY(unit, readText(place, "unit"));
    HALFTONE_TRY(help, readText(place, "help"));
    ArrayData out{name, unit, help, opened.dims, std::vector<float>(opened.count)};
    if (opened.count != 0 &&
        H5Dread(opened.data.id(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.values.data()) < 0)
        return broken(fmt::format("dataset {}: {}", place, lastError()));
    return out;
}

Result<std::vector<std::string>> Input::texts(const std::string& place) const
{
    HALFTONE_TRY(opened, dataset(place, Content::Text));
    if (opened.dims.size() > 1) return broken(fmt::format("dataset {} is not a list of texts", place));
    const std::size_t width = opened.valueBytes;
    // Block by block: one long text makes all of them wide, and only what they hold is kept.
    const std::size_t rows = std::max<std::size_t>(kBlockBytes / width, 1);
    const Handle t = type(H5Dget_type(opened.data.id()));
    const Handle target = space(H5Dget_space(opened.data.id()));
    std::vector<std::string> out;
    std::string block;
    for (std::size_t start = 0; start < opened.count; start += rows) {
        const hsize_t first = start, n = std::min(rows, opened.count - start);
        block.resize(n * width);
        const Handle memory = space(H5Screate_simple(1, &n, nullptr));
        if (!opened.dims.empty())
            H5Sselect_hyperslab(target.id(), H5S_SELECT_SET, &first, nullptr, &n, nullptr);
        if (H5Dread(opened.data.id(), t.id(), memory.id(), target.id(), H5P_DEFAULT, block.data()) < 0)
            return broken(fmt::format("dataset {}: {}", place, lastError()));
        for (std::size_t i = 0; i < n; ++i) {
            auto text = unpadded(block.data() + i * width, width).in(fmt::format("dataset {}", place));
            if (!text) return std::move(text).error();
            out.push_back(*std::move(text));
        }
    }
    return out;
}

Result<std::int64_t> Input::textCount(const std::string& place) const
{
    HALFTONE_TRY(opened, dataset(place, Content::Text));
    return static_cast<std::int64_t>(opened.count);
}

} // namespace halftone::hdf5
