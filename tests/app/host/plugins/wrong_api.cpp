// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/host/plugin_interface.h"

#include <QObject>
#include <cstdlib>

namespace {
// Reading what a plugin says of itself must run none of its code.
const struct Landmine {
    Landmine() { std::abort(); }
} landmine;
} // namespace

class WrongApiPlugin final : public QObject, public halftone::MethodProvider {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID HALFTONE_METHODS_IID FILE "wrong_api.json")
    Q_INTERFACES(halftone::MethodProvider)
public:
    int apiVersion() const override { return 99; }
    std::vector<std::shared_ptr<const halftone::Method>> methods() const override { return {}; }
};

#include "wrong_api.moc"
