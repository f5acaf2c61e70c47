// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/host/plugin_interface.h"

#include <QObject>

namespace {

class AnotherRtn final : public halftone::Method {
public:
    AnotherRtn() { m_info.id = "rtn"; }
    const halftone::MethodInfo& info() const override { return m_info; }
    const halftone::ParamSchema& schema() const override { return m_schema; }
    std::vector<halftone::TableSchema> tables() const override { return {}; }
    std::vector<halftone::FigureSpec> figures() const override { return {}; }
    halftone::Result<halftone::MethodPlan> plan(const halftone::MethodInput&,
                                                const halftone::ParamList&) const override
    {
        return halftone::MethodPlan{};
    }
    halftone::Status run(const halftone::MethodInput&, const halftone::ParamList&,
                         halftone::JobContext&) const override
    {
        return halftone::Ok{};
    }

private:
    halftone::MethodInfo m_info;
    halftone::ParamSchema m_schema;
};

} // namespace

class TakenPlugin final : public QObject, public halftone::MethodProvider {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID HALFTONE_METHODS_IID FILE "taken.json")
    Q_INTERFACES(halftone::MethodProvider)
public:
    int apiVersion() const override { return halftone::kMethodApi; }
    std::vector<std::shared_ptr<const halftone::Method>> methods() const override
    {
        return {std::make_shared<const AnotherRtn>()};
    }
};

#include "taken.moc"
