// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/host/plugin_interface.h"

#include <QObject>
#include <stdexcept>

class ThrowingPlugin final : public QObject, public halftone::MethodProvider {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID HALFTONE_METHODS_IID FILE "throwing.json")
    Q_INTERFACES(halftone::MethodProvider)
public:
    int apiVersion() const override { return halftone::kMethodApi; }
    std::vector<std::shared_ptr<const halftone::Method>> methods() const override
    {
        throw std::runtime_error("no methods today");
    }
};

#include "throwing.moc"
