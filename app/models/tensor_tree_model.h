// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/models/weight_filter.h"
#include "core/model/model.h"

#include <QAbstractItemModel>

#include <memory>
#include <span>
#include <vector>

namespace halftone {

/// Statistics of one weight, filled when a run computed them; NaN until then.
struct WeightStatistics {
    double sqnr = std::numeric_limits<double>::quiet_NaN(); ///< dB; infinite: no error
    double mse = std::numeric_limits<double>::quiet_NaN();
    bool kept = false; ///< stays as it is: there is nothing to lose
};

/// The weights of a model, grouped by layer; filtered and sorted here, so that 100,000 of them need
/// one pass over plain numbers and no object a row. All texts are made when a cell is asked for.
class TensorTreeModel : public QAbstractItemModel {
    Q_OBJECT
public:
    enum ColumnId { Name, ShapeText, Type, Elements, Bytes, Bits, Sqnr, Mse, ColumnCount };
    enum Roles { WeightIndexRole = Qt::UserRole, IdRole };
    using QAbstractItemModel::QAbstractItemModel;

    void setModel(std::shared_ptr<const Model> model);
    const std::shared_ptr<const Model>& model() const { return m_model; }
    /// One entry a weight, or empty: forget them.
    void setStatistics(std::vector<WeightStatistics> statistics);
    const std::vector<WeightStatistics>& statistics() const { return m_statistics; }
    /// Shows only what matches. On an error the old filter stays.
    Status setFilter(std::string_view text);
    bool filtered() const { return !m_filter.empty(); }
    /// Index of a weight's row, invalid when it is filtered out.
    QModelIndex indexOf(int weight) const;
    /// The weight of a row, or -1 for a group.
    int weightAt(const QModelIndex& index) const;
    /// Weights in the order they are shown.
    std::vector<std::uint32_t> shown() const;
    /// Colour of a weight's class, 0xRRGGBB.
    static std::uint32_t colourOf(RoleClass roleClass);

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& child) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    void sort(int column, Qt::SortOrder order = Qt::AscendingOrder) override;

private:
    struct Group {
        int layer = -1;
        QString name;
        std::vector<std::uint32_t> weights; ///< shown ones, in shown order
        double elements = 0, bytes = 0;     ///< of the shown ones
    };
    void rebuild();
    void sortGroups();
    WeightFacts factsOf(std::uint32_t weight) const;
    QVariant groupData(const Group& group, int column, int role) const;
    QVariant weightData(std::uint32_t weight, int column, int role) const;

    std::shared_ptr<const Model> m_model;
    std::vector<WeightStatistics> m_statistics;
    WeightFilter m_filter;
    std::vector<Group> m_groups;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> m_places; ///< weight -> group + 1 (0: hidden), row
    int m_sortColumn = -1;
    Qt::SortOrder m_sortOrder = Qt::AscendingOrder;
};

} // namespace halftone
