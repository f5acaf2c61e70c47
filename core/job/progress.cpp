// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/job/progress.h"

#include <algorithm>
#include <cmath>

namespace halftone {

namespace {

using namespace std::chrono_literals;

constexpr auto kSpeedWindow = 10s;
constexpr auto kSampleStep = 100ms;
constexpr auto kFirstForecast = 500ms; // a forecast from less is noise

} // namespace

void JobProgress::start(Clock::time_point now)
{
    const std::lock_guard lock(m_mutex);
    m_samples = {{m_gate.working(now), m_shown}};
}

void JobProgress::declare(std::span<const std::pair<std::string_view, double>> stages)
{
    const std::lock_guard lock(m_mutex);
    m_base = fractionLocked();
    m_done = 0;
    m_stages.clear();
    double sum = 0;
    for (const auto& [name, weight] : stages) {
        const double w = std::isfinite(weight) && weight > 0 ? weight : 0;
        m_stages.push_back({std::string(name), w});
        sum += w;
    }
    for (Stage& stage : m_stages)
        stage.weight = sum > 0 ? stage.weight / sum : 1 / static_cast<double>(m_stages.size());
    m_current = m_stages.size();
    m_stageItems = 0;
    ++m_changes;
}

void JobProgress::enter(std::string_view stage, std::int64_t items)
{
    const std::lock_guard lock(m_mutex);
    sampleLocked(m_gate.working(Clock::now()));
    if (m_current < m_stages.size() && !m_stages[m_current].left) {
        m_stages[m_current].left = true;
        m_done += m_stages[m_current].weight;
    }
    // A job that declares nothing has one stage: the first that it enters.
    if (m_stages.empty() && m_base == 0) m_stages.push_back({std::string(stage), 1.0});
    const auto it =
        std::find_if(m_stages.begin(), m_stages.end(), [&](const Stage& s) { return s.name == stage; });
    m_current = static_cast<std::size_t>(it - m_stages.begin());
    m_stage = stage;
    m_detail.clear();
    m_stageStart = m_items.load(std::memory_order_relaxed);
    m_stageItems = std::max<std::int64_t>(items, 0);
    ++m_changes;
}

void JobProgress::detail(std::string_view text)
{
    const std::lock_guard lock(m_mutex);
    m_detail = text;
    sampleLocked(m_gate.working(Clock::now()));
    ++m_changes;
}

void JobProgress::advance(std::int64_t items) noexcept
{
    if (items > 0) m_items.fetch_add(items, std::memory_order_relaxed);
}

double JobProgress::fractionLocked()
{
    double part = m_done;
    if (m_current < m_stages.size() && !m_stages[m_current].left && m_stageItems > 0) {
        const auto counted = static_cast<double>(m_items.load(std::memory_order_relaxed) - m_stageStart);
        part += m_stages[m_current].weight * std::min(1.0, counted / static_cast<double>(m_stageItems));
    }
    m_shown = std::clamp(m_base + (1 - m_base) * part, m_shown, 1.0);
    return m_shown;
}

void JobProgress::sampleLocked(Clock::time_point now)
{
    const double fraction = fractionLocked();
    if (m_samples.empty() || now - m_samples.back().at >= kSampleStep) m_samples.push_back({now, fraction});
    // The oldest sample kept is the last one that is at least a window old: the speed's other end.
    while (m_samples.size() > 1 && now - m_samples[1].at >= kSpeedWindow)
        m_samples.pop_front();
}

std::optional<std::chrono::nanoseconds> JobProgress::remainingLocked(Clock::time_point now) const
{
    if (m_samples.empty()) return std::nullopt;
    const Sample& first = m_samples.front();
    const double gained = m_shown - first.fraction;
    const double seconds = std::chrono::duration<double>(now - first.at).count();
    if (now - first.at < kFirstForecast || gained <= 0) return std::nullopt;
    const double left = (1 - m_shown) * seconds / gained;
    constexpr double kLongest = 3.2e7; // a year: what is longer can't be told
    if (!(left < kLongest)) return std::nullopt;
    return std::chrono::nanoseconds(static_cast<std::int64_t>(left * 1e9));
}

void JobProgress::read(Clock::time_point now, JobSnapshot& out)
{
    now = m_gate.working(now);
    const std::lock_guard lock(m_mutex);
    sampleLocked(now);
    out.fraction = m_shown;
    out.stage = m_detail.empty() ? m_stage : m_stage.empty() ? m_detail : m_stage + ": " + m_detail;
    out.remaining = remainingLocked(now);
    out.version += m_changes + static_cast<std::uint64_t>(m_items.load(std::memory_order_relaxed));
}

} // namespace halftone
