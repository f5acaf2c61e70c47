// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window/view_exporter.h"

#include "app/host/strings.h"
#include "app/ui/raster_view.h"
#include "app/window/action_list.h"
#include "app/window/block_panel.h"
#include "app/window/figures_panel.h"
#include "app/window/main_window.h"
#include "app/window/method_panel.h"
#include "app/window/model_panel.h"
#include "app/window/overview_panel.h"
#include "app/window/pareto_panel.h"
#include "app/window/tensor_panel.h"

#include <QDir>
#include <QTabWidget>
#include <QThreadPool>

#include <algorithm>
#include <chrono>

namespace halftone {

using namespace Qt::Literals::StringLiterals;

namespace {

/// Larger models are swept on some of their weights only: the pictures look the same.
constexpr double kMostSweptWeights = 4e8;

std::vector<std::uint32_t> sweptWeights(const Model& model)
{
    const auto all = model.weights()->all();
    if (static_cast<double>(model.weightCount()) <= kMostSweptWeights) return {};
    std::vector<std::uint32_t> out;
    double sum = 0;
    const auto step =
        static_cast<std::size_t>(static_cast<double>(model.weightCount()) / kMostSweptWeights) + 1;
    std::size_t seen = 0;
    for (const WeightRole& role : model.roles())
        if (role.linear && !role.bias && seen++ % step == 0 && sum < kMostSweptWeights) {
            out.push_back(role.weight);
            sum += static_cast<double>(all[role.weight].count());
        }
    return out;
}

} // namespace

ViewExporter::ViewExporter(MainWindow& window, QString folder, QObject* parent)
    : QObject(parent), m_window(window), m_folder(std::move(folder))
{
    connect(&m_timer, &QTimer::timeout, this, &ViewExporter::tick);
    connect(&m_window.workspace(), &Workspace::openFailed, this, [this] {
        m_timer.stop();
        Q_EMIT finished(3);
    });
}

void ViewExporter::start(const QString& file)
{
    if (!QDir().mkpath(m_folder)) {
        Q_EMIT finished(4);
        return;
    }
    m_window.open(file);
    m_steps = {
        [this] {
            const auto& model = m_window.workspace().model();
            if (model)
                m_window.workspace().runSweep(m_window.workspace().defaultSweep(), sweptWeights(*model));
        },
        [this] {
            // A budget in the lower half of what was measured: the line, the mix and the hull all show.
            const auto sweep = m_window.workspace().results(Workspace::Kind::Sweep);
            if (!sweep) return;
            const auto bytes = sweep->column("pareto", "bytes");
            if (!bytes || bytes->empty()) return;
            const auto [low, high] = std::minmax_element(bytes->begin(), bytes->end());
            const double budget = *low + (*high - *low) * 0.4;
            m_window.pareto().setBudget(budget);
            m_window.methodPanel().setBudgetBytes(budget);
        },
        [this] {
            // The worst weight, or the largest where nothing is lost.
            m_window.actions().find(u"run.block-error"_s)->trigger();
        },
        [this] {
            // The brightest block, as a click would open it.
            auto* map = qobject_cast<RasterView*>(m_window.blocks().plot());
            if (map == nullptr || !map->picture() || map->picture()->series.empty()) return;
            const auto& z = map->picture()->series.front().z;
            if (z.empty()) return;
            Q_EMIT map->picked({0, static_cast<int>(std::max_element(z.begin(), z.end()) - z.begin())});
        },
        [this] { addGrabs(); }};
    m_timer.start(std::chrono::milliseconds(40));
}

void ViewExporter::addGrabs()
{
    for (const MainWindow::Panel& panel : m_window.panels()) {
        m_steps.push_back([this, &panel] { m_window.tabs().setCurrentWidget(panel.view); });
        m_steps.push_back([this, &panel] {
            save(*panel.view, panel.id);
            save(m_window, u"window-"_s + panel.id);
        });
    }
}

void ViewExporter::save(QWidget& widget, const QString& name)
{
    const QString file = QDir(m_folder).filePath(name + u".png"_s);
    if (!widget.grab().save(file)) {
        m_window.workspace().say(Workspace::Tone::Error, tr("file %1: can't be written").arg(file));
        m_code = 4;
    }
}

void ViewExporter::tick()
{
    // A step begins when no job and no short read ran for three ticks in a row.
    const bool idle = !m_window.workspace().busy() && !m_window.workspace().opening() &&
                      QThreadPool::globalInstance()->activeThreadCount() == 0;
    m_quiet = idle ? m_quiet + 1 : 0;
    if (m_quiet < 3) return;
    m_quiet = 0;
    if (m_next == m_steps.size()) {
        m_timer.stop();
        Q_EMIT finished(m_code);
        return;
    }
    const auto step = m_steps[m_next++]; // a copy: a step may add others
    step();
}

} // namespace halftone
