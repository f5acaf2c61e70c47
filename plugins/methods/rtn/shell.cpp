// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/host/plugin_interface.h"
#include "plugins/methods/rtn/rtn.h"

#include <QObject>

class RtnPlugin final : public QObject, public halftone::MethodProvider {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID HALFTONE_METHODS_IID FILE "plugin.json")
    Q_INTERFACES(halftone::MethodProvider)
public:
    int apiVersion() const override { return halftone::kMethodApi; }
    std::vector<std::shared_ptr<const halftone::Method>> methods() const override
    {
        return {std::make_shared<const halftone::RtnMethod>()};
    }
};

#include "shell.moc"
