// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/method/weight_columns.h"

namespace halftone {

std::vector<Column> weightColumns()
{
    using Type = Column::Type;
    return {{"name", Type::Name, "", "Name of the weight."},
            {"id", Type::Name, "", "Stable id, independent of container and sharding."},
            {"layer", Type::Integer, "", "Layer, or -1."},
            {"class", Type::Name, "", "Class of its role in the network."}};
}

std::vector<Column> errorColumns()
{
    using Type = Column::Type;
    return {{"mse", Type::Real, "", "Mean square error."},
            {"nmse", Type::Real, "", "Noise over signal."},
            {"sqnr_db", Type::Real, "dB", "Signal to quantization noise ratio."},
            {"max_error", Type::Real, "", "Largest absolute error."},
            {"crest_factor", Type::Real, "", "Largest absolute value over the root mean square."},
            {"clipped", Type::Integer, "", "Values beyond the ends of the grid."},
            {"underflowed", Type::Integer, "", "Values other than 0 that read back as 0."}};
}

std::vector<Column> joinColumns(std::initializer_list<std::vector<Column>> lists)
{
    std::vector<Column> all;
    for (const auto& list : lists)
        all.insert(all.end(), list.begin(), list.end());
    return all;
}

TableRow& TableRow::number(double value)
{
    m_values.push_back(value);
    return *this;
}

TableRow& TableRow::name(std::string_view text) { return number(m_table.nameId(m_values.size(), text)); }

TableRow& TableRow::weight(std::string_view weightName, const WeightRole& role)
{
    name(weightName);
    name(role.id);
    number(std::int64_t{role.layer});
    return name(nameOf(role.roleClass));
}

TableRow& TableRow::errors(const ErrorStats& s)
{
    for (const double value : {s.mse(), s.normalisedMse(), s.sqnr(), s.maxError, s.crestFactor()})
        number(value);
    number(s.clipped);
    return number(s.underflowed);
}

} // namespace halftone
