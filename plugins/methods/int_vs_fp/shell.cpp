// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/host/plugin_interface.h"
#include "plugins/methods/int_vs_fp/int_vs_fp.h"

#include <QObject>

class IntVsFpPlugin final : public QObject, public halftone::MethodProvider {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID HALFTONE_METHODS_IID FILE "plugin.json")
    Q_INTERFACES(halftone::MethodProvider)
public:
    int apiVersion() const override { return halftone::kMethodApi; }
    std::vector<std::shared_ptr<const halftone::Method>> methods() const override
    {
        return {std::make_shared<const halftone::IntVsFpMethod>()};
    }
};

#include "shell.moc"
