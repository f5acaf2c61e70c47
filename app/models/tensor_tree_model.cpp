// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/models/tensor_tree_model.h"

#include "app/host/strings.h"
#include "core/base/text.h"
#include "core/result/picture.h"

#include <QColor>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

/// Groups are top-level items with id 0; a weight's id is its group's number + 1.
constexpr quintptr kGroupId = 0;

/// Order and heading of weights outside the layers: what a forward pass meets first comes first.
struct Section {
    int order;
    const char* name;
};

Section sectionOf(const WeightRole& role)
{
    if (role.layer >= 0) return {1000 + role.layer, nullptr};
    if (role.role == Role::Head) return {2'000'000'000, QT_TRANSLATE_NOOP("TensorTree", "head")};
    switch (role.roleClass) {
    case RoleClass::Embedding:
        return {0, QT_TRANSLATE_NOOP("TensorTree", "embedding")};
    case RoleClass::Norm:
        return {1'999'999'999, QT_TRANSLATE_NOOP("TensorTree", "final norm")};
    default:
        return {2'000'000'001, QT_TRANSLATE_NOOP("TensorTree", "other tensors")};
    }
}

} // namespace

std::uint32_t TensorTreeModel::colourOf(RoleClass roleClass) { return categoryColour(nameOf(roleClass)); }

void TensorTreeModel::setModel(std::shared_ptr<const Model> model)
{
    m_model = std::move(model);
    m_statistics.clear();
    rebuild();
}

void TensorTreeModel::setStatistics(std::vector<WeightStatistics> statistics)
{
    m_statistics = std::move(statistics);
    // Only two columns changed: the tree keeps what is open and where it stands, unless order or
    // membership hang on the numbers.
    if (!m_filter.empty() || m_sortColumn == Sqnr || m_sortColumn == Mse) {
        rebuild();
        return;
    }
    for (int g = 0; g < static_cast<int>(m_groups.size()); ++g) {
        const QModelIndex group = index(g, 0);
        const int rows = rowCount(group);
        if (rows > 0) Q_EMIT dataChanged(index(0, Sqnr, group), index(rows - 1, Mse, group));
    }
}

Status TensorTreeModel::setFilter(std::string_view text)
{
    HALFTONE_TRY(filter, WeightFilter::parse(text));
    m_filter = std::move(filter);
    rebuild();
    return Ok{};
}

WeightFacts TensorTreeModel::factsOf(std::uint32_t weight) const
{
    const WeightInfo& info = m_model->weights()->all()[weight];
    const WeightRole& role = m_model->roles()[weight];
    WeightFacts facts{.name = info.name,
                      .id = role.id,
                      .type = info.type,
                      .role = nameOf(role.role),
                      .roleClass = nameOf(role.roleClass),
                      .layer = role.layer,
                      .elements = static_cast<double>(info.count()),
                      .bytes = static_cast<double>(info.bytes),
                      .bits = info.bitsPerWeight()};
    if (weight < m_statistics.size()) {
        facts.snr = m_statistics[weight].sqnr;
        facts.mse = m_statistics[weight].mse;
    }
    return facts;
}

void TensorTreeModel::rebuild()
{
    beginResetModel();
    m_groups.clear();
    m_places.clear();
    if (m_model) {
        const auto all = m_model->weights()->all();
        const auto roles = m_model->roles();
        std::map<int, std::size_t> byOrder;
        std::vector<int> orders;
        for (std::uint32_t i = 0; i < all.size(); ++i) {
            if (!m_filter.empty() && !m_filter.matches(factsOf(i))) continue;
            const Section section = sectionOf(roles[i]);
            const auto [at, fresh] = byOrder.try_emplace(section.order, m_groups.size());
            if (fresh) {
                m_groups.push_back(
                    {roles[i].layer,
                     section.name != nullptr ? tr(section.name) : tr("layer %1").arg(roles[i].layer),
                     {},
                     0,
                     0});
                orders.push_back(section.order);
            }
            Group& group = m_groups[at->second];
            group.weights.push_back(i);
            group.elements += static_cast<double>(all[i].count());
            group.bytes += static_cast<double>(all[i].bytes);
        }
        std::vector<Group> sorted;
        sorted.reserve(m_groups.size());
        for (const auto& [order, at] : byOrder)
            sorted.push_back(std::move(m_groups[at]));
        m_groups = std::move(sorted);
        m_places.resize(all.size());
        sortGroups();
    }
    endResetModel();
}

void TensorTreeModel::sortGroups()
{
    const auto all = m_model->weights()->all();
    for (std::size_t g = 0; g < m_groups.size(); ++g) {
        auto& weights = m_groups[g].weights;
        const auto by = [&](auto key) {
            // Unknown numbers go last in either direction.
            std::stable_sort(weights.begin(), weights.end(), [&](std::uint32_t a, std::uint32_t b) {
                const auto x = key(a);
                const auto y = key(b);
                if constexpr (std::is_same_v<std::decay_t<decltype(x)>, double>) {
                    if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
                }
                return m_sortOrder == Qt::AscendingOrder ? x < y : y < x;
            });
        };
        switch (m_sortColumn) {
        case Name:
            by([&](std::uint32_t i) { return std::string_view(m_model->roles()[i].id); });
            break;
        case Type:
            by([&](std::uint32_t i) { return std::string_view(all[i].type); });
            break;
        case ShapeText:
        case Elements:
            by([&](std::uint32_t i) { return static_cast<double>(all[i].count()); });
            break;
        case Bytes:
            by([&](std::uint32_t i) { return static_cast<double>(all[i].bytes); });
            break;
        case Bits:
            by([&](std::uint32_t i) { return all[i].bitsPerWeight(); });
            break;
        case Sqnr:
            by([&](std::uint32_t i) { return factsOf(i).snr; });
            break;
        case Mse:
            by([&](std::uint32_t i) { return factsOf(i).mse; });
            break;
        default:
            std::sort(weights.begin(), weights.end());
        }
        for (std::size_t r = 0; r < weights.size(); ++r)
            m_places[weights[r]] = {static_cast<std::uint32_t>(g + 1), static_cast<std::uint32_t>(r)};
    }
}

void TensorTreeModel::sort(int column, Qt::SortOrder order)
{
    m_sortColumn = column;
    m_sortOrder = order;
    if (!m_model) return;
    Q_EMIT layoutAboutToBeChanged();
    const QModelIndexList before = persistentIndexList();
    std::vector<int> weights;
    for (const QModelIndex& i : before)
        weights.push_back(weightAt(i));
    sortGroups();
    QModelIndexList after;
    for (qsizetype i = 0; i < before.size(); ++i) {
        const int weight = weights[static_cast<std::size_t>(i)];
        after.push_back(weight < 0 ? before[i] : indexOf(weight).siblingAtColumn(before[i].column()));
    }
    changePersistentIndexList(before, after);
    Q_EMIT layoutChanged();
}

QModelIndex TensorTreeModel::indexOf(int weight) const
{
    if (weight < 0 || static_cast<std::size_t>(weight) >= m_places.size()) return {};
    const auto [group, row] = m_places[static_cast<std::size_t>(weight)];
    if (group == 0) return {};
    return createIndex(static_cast<int>(row), 0, static_cast<quintptr>(group));
}

int TensorTreeModel::weightAt(const QModelIndex& index) const
{
    if (!index.isValid() || index.internalId() == kGroupId) return -1;
    return static_cast<int>(m_groups[index.internalId() - 1].weights[static_cast<std::size_t>(index.row())]);
}

std::vector<std::uint32_t> TensorTreeModel::shown() const
{
    std::vector<std::uint32_t> out;
    for (const Group& group : m_groups)
        out.insert(out.end(), group.weights.begin(), group.weights.end());
    return out;
}

QModelIndex TensorTreeModel::index(int row, int column, const QModelIndex& parent) const
{
    if (!hasIndex(row, column, parent)) return {};
    return createIndex(row, column, parent.isValid() ? static_cast<quintptr>(parent.row() + 1) : kGroupId);
}

QModelIndex TensorTreeModel::parent(const QModelIndex& child) const
{
    if (!child.isValid() || child.internalId() == kGroupId) return {};
    return createIndex(static_cast<int>(child.internalId()) - 1, 0, kGroupId);
}

int TensorTreeModel::rowCount(const QModelIndex& parent) const
{
    if (!parent.isValid()) return static_cast<int>(m_groups.size());
    if (parent.internalId() != kGroupId || parent.column() != 0) return 0;
    return static_cast<int>(m_groups[static_cast<std::size_t>(parent.row())].weights.size());
}

int TensorTreeModel::columnCount(const QModelIndex&) const { return ColumnCount; }

QVariant TensorTreeModel::groupData(const Group& group, int column, int role) const
{
    if (role != Qt::DisplayRole) return {};
    switch (column) {
    case Name:
        return tr("%1  (%2)").arg(group.name).arg(group.weights.size());
    case Elements:
        return toQt(humanCount(static_cast<std::uint64_t>(group.elements)));
    case Bytes:
        return toQt(humanBytes(static_cast<std::uint64_t>(group.bytes)));
    case Bits:
        if (group.elements > 0) return QString::number(8 * group.bytes / group.elements, 'f', 2);
        return {};
    default:
        return {};
    }
}

QVariant TensorTreeModel::weightData(std::uint32_t weight, int column, int role) const
{
    const WeightInfo& info = m_model->weights()->all()[weight];
    const WeightRole& place = m_model->roles()[weight];
    if (role == WeightIndexRole) return static_cast<int>(weight);
    if (role == IdRole) return toQt(place.id);
    if (role == Qt::DecorationRole && column == Name) return QColor(QRgb(colourOf(place.roleClass)));
    if (role == Qt::ToolTipRole) {
        QString text = toQt(info.name) + u'\n' + toQt(nameOf(place.role)) + u", "_s +
                       toQt(info.shape.text()) + u", "_s + toQt(info.type);
        if (!info.whyOpaque.empty()) text += u'\n' + toQt(info.whyOpaque);
        return text;
    }
    if (role != Qt::DisplayRole) return {};
    switch (column) {
    case Name: {
        // Under its layer a weight needs only the rest of its id.
        const std::string prefix = "layers." + std::to_string(place.layer) + ".";
        return toQt(place.layer >= 0 && place.id.starts_with(prefix) ? place.id.substr(prefix.size())
                                                                     : place.id);
    }
    case ShapeText:
        return toQt(info.shape.text());
    case Type:
        return toQt(info.type);
    case Elements:
        return toQt(humanCount(static_cast<std::uint64_t>(info.count())));
    case Bytes:
        return toQt(humanBytes(info.bytes));
    case Bits:
        return QString::number(info.bitsPerWeight(), 'f', 2);
    case Sqnr:
        if (weight >= m_statistics.size() || std::isnan(m_statistics[weight].sqnr)) return {};
        // Infinite sorts above every number, which is where "nothing lost" belongs.
        if (std::isinf(m_statistics[weight].sqnr))
            return m_statistics[weight].kept ? tr("kept") : tr("exact");
        return QString::number(m_statistics[weight].sqnr, 'f', 1);
    case Mse:
        if (weight < m_statistics.size() && !std::isnan(m_statistics[weight].mse))
            return QString::number(m_statistics[weight].mse, 'e', 2);
        return {};
    default:
        return {};
    }
}

QVariant TensorTreeModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid()) return {};
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue(index.column() >= Elements ? Qt::AlignRight | Qt::AlignVCenter
                                                              : Qt::AlignLeft | Qt::AlignVCenter);
    if (index.internalId() == kGroupId)
        return groupData(m_groups[static_cast<std::size_t>(index.row())], index.column(), role);
    return weightData(static_cast<std::uint32_t>(weightAt(index)), index.column(), role);
}

QVariant TensorTreeModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= ColumnCount) return {};
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue(section >= Elements ? Qt::AlignRight | Qt::AlignVCenter
                                                       : Qt::AlignLeft | Qt::AlignVCenter);
    if (role == Qt::ToolTipRole) {
        const std::array<QString, ColumnCount> help{tr("Place in the network"),
                                                    tr("Extents, slowest first"),
                                                    tr("How the elements are stored"),
                                                    tr("Number of weights"),
                                                    tr("Bytes in the file, decimal prefixes"),
                                                    tr("Bits per weight, with scales"),
                                                    tr("Signal to quantization noise of the last run, dB"),
                                                    tr("Mean square error of the last run")};
        return help[static_cast<std::size_t>(section)];
    }
    if (role != Qt::DisplayRole) return {};
    const std::array<QString, ColumnCount> titles{tr("Weight"), tr("Shape"), tr("Type"),    tr("Elements"),
                                                  tr("Size"),   tr("bpw"),   tr("SQNR dB"), tr("MSE")};
    return titles[static_cast<std::size_t>(section)];
}

} // namespace halftone
