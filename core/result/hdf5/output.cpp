// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/result/hdf5/output.h"

#include "core/base/file.h"
#include "core/base/text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <hdf5.h>
#include <unistd.h>

namespace halftone::hdf5 {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
constexpr unsigned kDeflateLevel = 4;
/// What HDF5 writes beside the rows of one flush; asked for in advance.
constexpr std::uint64_t kSpareBytes = std::uint64_t{1} << 20;

Handle plain()
{
    Handle p = properties(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_obj_track_times(p.id(), false);
    return p;
}

Handle compressed(std::span<const hsize_t> chunk)
{
    Handle p = plain();
    if (H5Pset_chunk(p.id(), static_cast<int>(chunk.size()), chunk.data()) < 0 ||
        H5Pset_shuffle(p.id()) < 0 || H5Pset_deflate(p.id(), kDeflateLevel) < 0)
        return {};
    return p;
}

Handle orderedGroup(Hid parent, const std::string& name)
{
    const Handle p = properties(H5Pcreate(H5P_GROUP_CREATE));
    H5Pset_obj_track_times(p.id(), false); // equal results are equal files
    H5Pset_link_creation_order(p.id(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    H5Pset_attr_creation_order(p.id(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    const Handle link = properties(H5Pcreate(H5P_LINK_CREATE));
    H5Pset_char_encoding(link.id(), H5T_CSET_UTF8);
    return group(H5Gcreate2(parent, name.c_str(), link.id(), p.id(), H5P_DEFAULT));
}

Handle makeDataset(Hid parent, const std::string& name, Hid fileType, const Handle& dataSpace, Hid creation)
{
    const Handle link = properties(H5Pcreate(H5P_LINK_CREATE));
    H5Pset_char_encoding(link.id(), H5T_CSET_UTF8);
    // Without a chunk cache each chunk reaches the disk in its own write call, so a full disk is an error
    // here and not in a close call that can't be repeated.
    const Handle access = properties(H5Pcreate(H5P_DATASET_ACCESS));
    H5Pset_chunk_cache(access.id(), 0, 0, 1.0);
    return dataset(
        H5Dcreate2(parent, name.c_str(), fileType, dataSpace.id(), link.id(), creation, access.id()));
}

Hid fileType(Column::Type t)
{
    if (t == Column::Type::Integer) return H5T_STD_I64LE;
    if (t == Column::Type::Name) return H5T_STD_I32LE;
    return H5T_IEEE_F64LE;
}

const char* typeName(Column::Type t)
{
    if (t == Column::Type::Integer) return "integer";
    if (t == Column::Type::Name) return "name";
    return "real";
}

Status writeParam(Hid owner, const std::string& name, const ParamValue& value)
{
    if (const bool* b = std::get_if<bool>(&value)) return writeBool(owner, name, *b);
    if (const std::int64_t* i = std::get_if<std::int64_t>(&value)) return writeInt(owner, name, *i);
    if (const double* d = std::get_if<double>(&value)) return writeReal(owner, name, *d);
    return writeText(owner, name, *std::get_if<std::string>(&value));
}

} // namespace

Status Output::create(const std::string& path, const Provenance& p)
{
    m_path = path;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::error_code error;
    if (!folder.empty() && !std::filesystem::is_directory(folder, error))
        return Error(Errc::CannotWrite, fmt::format("there is no folder {}", folder.string()));
    if (std::filesystem::is_directory(path, error))
        return Error(Errc::CannotWrite, fmt::format("{} is a folder", path));
    HALFTONE_CHECK(enoughSpace(kSpareBytes));

    const Lock lock;
    const Handle access = properties(H5Pcreate(H5P_FILE_ACCESS));
    // 1.8 brings attributes over 64 KiB and the order of creation; every reader of today has it.
    H5Pset_libver_bounds(access.id(), H5F_LIBVER_V18, H5F_LIBVER_V110);
    H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG);
    const Handle creation = properties(H5Pcreate(H5P_FILE_CREATE));
    H5Pset_obj_track_times(creation.id(), false);
    H5Pset_link_creation_order(creation.id(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    const std::string part = path + ".part";
    m_file = Handle(H5Fcreate(part.c_str(), H5F_ACC_TRUNC, creation.id(), access.id()), H5Fclose);
    if (!m_file) return failed("can't be created");
    m_part = part;
    m_tables = orderedGroup(m_file.id(), "tables");
    m_arrays = orderedGroup(m_file.id(), "arrays");
    if (!m_tables || !m_arrays) return failed("can't be created");
    HALFTONE_CHECK(provenance(p).in("file " + m_path));
    // What a killed run leaves can then be told from any other file.
    if (H5Fflush(m_file.id(), H5F_SCOPE_GLOBAL) < 0) return failed("can't be created");
    return Ok{};
}

Error Output::failed(std::string_view what) const
{
    const std::string reason = lastError();
    std::string space;
    if (const auto free = freeDiskBytes(m_path)) space = fmt::format(" ({} free)", humanBytes(*free));
    return Error(Errc::CannotWrite, fmt::format("{}: {}{}", what, reason, space)).in("file " + m_path);
}

Status Output::provenance(const Provenance& p)
{
    const Hid root = m_file.id();
    HALFTONE_CHECK(writeInt(root, "halftone_format", 1));
    HALFTONE_CHECK(writeText(root, "program", "halftone"));
    HALFTONE_CHECK(writeText(root, "version", p.programVersion));
    HALFTONE_CHECK(writeText(root, "created", p.created));
    const Handle g = orderedGroup(root, "provenance");
    HALFTONE_CHECK(writeText(g.id(), "method", p.methodId));
    HALFTONE_CHECK(writeInt(g.id(), "method_version", p.methodVersion));
    HALFTONE_CHECK(writeText(g.id(), "checkpoint_path", p.checkpointPath));
    HALFTONE_CHECK(writeText(g.id(), "checkpoint_hash", p.checkpointHash));
    HALFTONE_CHECK(writeText(g.id(), "device", p.device));
    HALFTONE_CHECK(writeUnsigned(g.id(), "seed", p.seed));
    HALFTONE_CHECK(writeInt(g.id(), "threads", p.threads));
    const Handle params = orderedGroup(g.id(), "parameters");
    for (const auto& [key, value] : p.params)
        HALFTONE_CHECK(writeParam(params.id(), linkName(key), value));
    return Ok{};
}

Result<std::shared_ptr<TableFile>> Output::table(const TableSchema& schema)
{
    HALFTONE_CHECK(open());
    HALFTONE_CHECK(checkSchema(schema));
    for (const auto& t : m_known) {
        if (t->schema.name != schema.name) continue;
        if (!sameColumns(t->schema, schema)) return otherColumns(schema.name);
        return t;
    }
    auto t = std::make_shared<TableFile>();
    t->schema = schema;
    t->names.resize(schema.columns.size());
    t->buffer.resize(schema.columns.size());
    const Lock lock;
    t->group = orderedGroup(m_tables.id(), linkName(schema.name));
    if (!t->group) return failed(fmt::format("table {}", schema.name));
    HALFTONE_CHECK(writeText(t->group.id(), "help", schema.help).in("file " + m_path));
    m_known.push_back(t);
    return t;
}

Status Output::makeColumns(TableFile& t)
{
    const auto rows = static_cast<hsize_t>(t.buffer[0].size());
    const hsize_t chunk = std::clamp<hsize_t>(rows, 1, kChunkRows);
    const hsize_t none = 0, endless = H5S_UNLIMITED;
    const Handle dataSpace = space(H5Screate_simple(1, &none, &endless));
    const Handle creation = compressed({&chunk, 1});
    for (const Column& c : t.schema.columns) {
        Handle d = makeDataset(t.group.id(), linkName(c.name), fileType(c.type), dataSpace, creation.id());
        if (!d) return failed(fmt::format("table {}, column {}", t.schema.name, c.name));
        HALFTONE_CHECK(writeText(d.id(), "unit", c.unit));
        HALFTONE_CHECK(writeText(d.id(), "help", c.help));
        HALFTONE_CHECK(writeText(d.id(), "type", typeName(c.type)));
        t.datasets.push_back(std::move(d));
    }
    return Ok{};
}

Status Output::flush(TableFile& t)
{
    HALFTONE_CHECK(open());
    return settle(writeRows(t));
}

Status Output::settle(Status status)
{
    if (status) return status;
    m_failure = status.error();
    abandon();
    return status;
}

Status Output::writeRows(TableFile& t)
{
    const auto rows = static_cast<hsize_t>(t.buffer[0].size());
    HALFTONE_CHECK(enoughSpace(rows * t.buffer.size() * sizeof(double) + kSpareBytes));
    const Lock lock;
    if (t.datasets.empty()) HALFTONE_CHECK(makeColumns(t));
    if (rows == 0) return Ok{};
    const hsize_t start = t.written, end = t.written + rows;
    for (std::size_t c = 0; c < t.datasets.size(); ++c) {
        const Hid d = t.datasets[c].id();
        const Handle memory = space(H5Screate_simple(1, &rows, nullptr));
        if (H5Dset_extent(d, &end) < 0) return failed(fmt::format("table {}", t.schema.name));
        const Handle target = space(H5Dget_space(d));
        H5Sselect_hyperslab(target.id(), H5S_SELECT_SET, &start, nullptr, &rows, nullptr);
        // The library turns doubles into the column's whole numbers, which append() has checked to be exact.
        if (H5Dwrite(d, H5T_NATIVE_DOUBLE, memory.id(), target.id(), H5P_DEFAULT, t.buffer[c].data()) < 0)
            return failed(fmt::format("table {}, column {}", t.schema.name, t.schema.columns[c].name));
        t.buffer[c].clear();
    }
    t.written = end;
    return Ok{};
}

Status Output::array(std::string_view name, std::span<const std::int64_t> dims, std::span<const float> values,
                     std::string_view unit, std::string_view help)
{
    HALFTONE_CHECK(open());
    HALFTONE_CHECK(checkArray(name, dims, values.size()));
    if (std::find(m_arrayNames.begin(), m_arrayNames.end(), name) != m_arrayNames.end())
        return doubleArray(name);
    HALFTONE_CHECK(enoughSpace(values.size_bytes() + kSpareBytes));
    std::vector<hsize_t> extent(dims.begin(), dims.end()), chunk = extent;
    std::size_t bytes = values.size_bytes();
    // Leading dimensions are halved first, so that a chunk stays a run of whole rows.
    for (std::size_t d = 0; bytes > kChunkBytes;) {
        if (chunk[d] == 1) {
            ++d;
            continue;
        }
        chunk[d] = (chunk[d] + 1) / 2;
        bytes = sizeof(float);
        for (hsize_t n : chunk)
            bytes *= n;
    }
    const Lock lock;
    const Handle dataSpace = space(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr));
    const Handle creation = compressed(chunk);
    const Handle d = makeDataset(m_arrays.id(), linkName(name), H5T_IEEE_F32LE, dataSpace, creation.id());
    if (!d || H5Dwrite(d.id(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
        return failed(fmt::format("array {}", name));
    HALFTONE_CHECK(writeText(d.id(), "unit", unit));
    HALFTONE_CHECK(writeText(d.id(), "help", help));
    m_arrayNames.emplace_back(name);
    return Ok{};
}

Status Output::texts(Hid parent, const std::string& name, std::span<const std::string> lines)
{
    std::size_t width = 1;
    for (const std::string& line : lines)
        width = std::max(width, line.size());
    const auto count = static_cast<hsize_t>(lines.size());
    const hsize_t chunk = std::clamp<hsize_t>(count, 1, std::max<std::size_t>(kChunkBytes / width, 1));
    const Handle t = textType(width);
    const Handle dataSpace = space(H5Screate_simple(1, &count, nullptr));
    const Handle creation = compressed({&chunk, 1});
    const Handle d = makeDataset(parent, name, t.id(), dataSpace, creation.id());
    if (!d) return failed(name);
    std::string block;
    for (hsize_t start = 0; start < count; start += chunk) {
        const hsize_t rows = std::min(chunk, count - start);
        block.assign(rows * width, '\0');
        for (hsize_t i = 0; i < rows; ++i)
            lines[start + i].copy(block.data() + i * width, width);
        const Handle memory = space(H5Screate_simple(1, &rows, nullptr));
        H5Sselect_hyperslab(dataSpace.id(), H5S_SELECT_SET, &start, nullptr, &rows, nullptr);
        if (H5Dwrite(d.id(), t.id(), memory.id(), dataSpace.id(), H5P_DEFAULT, block.data()) < 0)
            return failed(name);
    }
    return Ok{};
}

Status Output::commit(Outcome outcome, std::span<const FigureSpec> figures,
                      std::span<const std::pair<std::string, std::string>> log)
{
    HALFTONE_CHECK(open());
    for (const auto& t : m_known)
        HALFTONE_CHECK(flush(*t));
    return settle(finish(outcome, figures, log));
}

Status Output::finish(Outcome outcome, std::span<const FigureSpec> figures,
                      std::span<const std::pair<std::string, std::string>> log)
{
    HALFTONE_CHECK(enoughSpace(kSpareBytes));
    const Lock lock;
    for (const auto& t : m_known)
        for (std::size_t c = 0; c < t->names.size(); ++c)
            if (t->schema.columns[c].type == Column::Type::Name)
                HALFTONE_CHECK(texts(t->group.id(), linkName(t->schema.columns[c].name + "_names"),
                                     t->names[c].names()));
    const Handle g = orderedGroup(m_file.id(), "figures");
    for (const FigureSpec& f : figures) {
        const std::string json = toJson(f);
        const Handle t = textType(json.size());
        const Handle scalar = space(H5Screate(H5S_SCALAR));
        const Handle d = makeDataset(g.id(), linkName(f.id), t.id(), scalar, plain().id());
        if (!d || H5Dwrite(d.id(), t.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, json.data()) < 0)
            return failed(fmt::format("figure {}", f.id));
    }
    std::vector<std::string> lines;
    lines.reserve(log.size());
    for (const auto& [level, text] : log)
        lines.push_back(fmt::format("{}\t{}", level, text));
    HALFTONE_CHECK(texts(m_file.id(), "log", lines));
    // Last: a file without it is one that nobody finished.
    HALFTONE_CHECK(writeText(m_file.id(), "outcome", nameOf(outcome)));
    return publish();
}

Status Output::publish()
{
    if (H5Fflush(m_file.id(), H5F_SCOPE_GLOBAL) < 0) return failed("can't be flushed");
    closeObjects();
    if (!m_file.close()) return failed("can't be closed");
    const auto systemError = [&](const char* what) {
        return Error(Errc::CannotWrite, fmt::format("{}: {}", what, std::strerror(errno)))
            .in("file " + m_path);
    };
    const auto sync = [](const std::string& path, int flags) {
        const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
        if (fd < 0) return false;
        const bool done = ::fsync(fd) == 0;
        const int kept = errno;
        ::close(fd);
        errno = kept;
        return done;
    };
    if (!sync(m_part, O_RDONLY)) return systemError("can't be flushed to disk");
    if (::rename(m_part.c_str(), m_path.c_str()) != 0) return systemError("can't be renamed");
    m_part.clear();
    // Some file systems can't flush a folder; the file itself is on disk by now.
    std::string folder = std::filesystem::path(m_path).parent_path().string();
    static_cast<void>(sync(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY));
    return Ok{};
}

void Output::closeObjects()
{
    // Tables may be held longer than the file: their identifiers must not outlive it.
    for (const auto& t : m_known) {
        t->datasets.clear();
        t->group.close();
    }
    m_known.clear();
    m_tables.close();
    m_arrays.close();
}

void Output::discard()
{
    if (m_file) {
        // On a full disk the library can't flush what it holds and would keep the file open for ever:
        // cutting it off first gives the space back.
        if (!m_part.empty()) static_cast<void>(::truncate(m_part.c_str(), 0));
        closeObjects();
        m_file.close();
        H5Eclear2(H5E_DEFAULT);
    }
    if (!m_part.empty()) ::unlink(m_part.c_str());
    m_part.clear();
}

Status Output::enoughSpace(std::uint64_t bytes) const
{
    const auto free = freeDiskBytes(m_path);
    if (!free || *free >= bytes) return Ok{}; // where free space can't be told, the write itself tells
    return Error(Errc::CannotWrite,
                 fmt::format("the disk is full: need {}, free {}", humanBytes(bytes), humanBytes(*free)))
        .in("file " + m_path);
}

} // namespace halftone::hdf5
