// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"
#include "core/result/hdf5/handle.h"
#include "core/result/writer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace halftone::hdf5 {

/// Reads one file that may be hostile: types, shapes and filters are compared with what the format says,
/// and sizes with what the file can hold, before anything is allocated. Used under a Lock.
class Input {
public:
    Status open(const std::string& path);
    void close() { m_file.close(); }

    /// Names of the objects in a group, in order of creation where the file tells it. Soft and external
    /// links are BadFormat: results are one file.
    Result<std::vector<std::string>> links(const std::string& group) const;
    bool hasAttribute(const std::string& place, const std::string& name) const;
    Result<std::int64_t> readInt(const std::string& place, const std::string& name) const;
    Result<std::uint64_t> readUnsigned(const std::string& place, const std::string& name) const;
    Result<std::string> readText(const std::string& place, const std::string& name) const;
    /// All attributes of a group, by their types.
    Result<ParamList> readParams(const std::string& group) const;

    /// Shape of the dataset of a column.
    Result<std::vector<std::int64_t>> dims(const std::string& place, Column::Type type) const;
    Result<std::vector<double>> reals(const std::string& place, Column::Type type) const;
    Result<ArrayData> array(const std::string& place, const std::string& name) const;
    Result<std::vector<std::string>> texts(const std::string& place) const;
    Result<std::int64_t> textCount(const std::string& place) const;

private:
    enum class Content : std::uint8_t { Real, Float, Integer, Name, Text };
    struct Opened {
        Handle data;
        std::vector<std::int64_t> dims;
        std::size_t valueBytes = 0;
        std::size_t count = 1;
    };
    static Content contentOf(Column::Type type);
    Result<Opened> dataset(const std::string& place, Content content) const;
    Result<Handle> attribute(const std::string& place, const std::string& name) const;
    static Status checkStorage(const Opened& opened);

    Handle m_file;
};

} // namespace halftone::hdf5
