// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/job_steps.h"

#include <algorithm>
#include <fmt/format.h>

namespace halftone {

namespace {
constexpr std::int64_t kTicks = 10000;
}

void StepProgress::begin(std::string_view stage)
{
    m_outer.enter(stage, kTicks);
    m_stages.clear();
    m_stage.clear();
    m_base = 0;
    m_share = 1;
    m_items = 1;
    m_done = 0;
    m_ticks = 0;
}

void StepProgress::end() { moveTo(kTicks); }

void StepProgress::declare(std::span<const std::pair<std::string_view, double>> stages)
{
    double sum = 0;
    for (const auto& [name, weight] : stages)
        sum += std::max(0.0, weight);
    m_stages.clear();
    for (const auto& [name, weight] : stages)
        m_stages.emplace_back(name, sum > 0 ? std::max(0.0, weight) / sum : 0);
}

void StepProgress::enter(std::string_view stage, std::int64_t items)
{
    m_stage = stage;
    m_items = std::max<std::int64_t>(1, items);
    m_done = 0;
    m_base = 0;
    m_share = 1;
    double before = 0;
    for (const auto& [name, weight] : m_stages) {
        if (name == stage) {
            m_base = before;
            m_share = weight;
            break;
        }
        before += weight;
    }
    m_outer.detail(stage);
    moveTo(static_cast<std::int64_t>(m_base * kTicks));
}

void StepProgress::detail(std::string_view text)
{
    m_outer.detail(m_stage.empty() ? std::string(text) : fmt::format("{}: {}", m_stage, text));
}

void StepProgress::advance(std::int64_t items) noexcept
{
    const auto done = m_done.fetch_add(items, std::memory_order_relaxed) + items;
    const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(m_items));
    moveTo(static_cast<std::int64_t>((m_base + m_share * part) * kTicks));
}

void StepProgress::moveTo(std::int64_t ticks) noexcept
{
    // Several threads may pass here: each hands on only what no other has.
    auto now = m_ticks.load(std::memory_order_relaxed);
    while (now < ticks)
        if (m_ticks.compare_exchange_weak(now, ticks, std::memory_order_relaxed)) {
            m_outer.advance(ticks - now);
            return;
        }
}

void StepResults::begin(std::size_t step, ResultWriter& outer)
{
    m_outer = &outer;
    m_step = step;
    m_mine.clear();
}

void StepResults::take(const ResultReader& finished)
{
    for (const auto& table : finished.tables())
        m_taken.insert('t' + table.name);
    for (const auto& name : finished.arrays())
        m_taken.insert('a' + name);
    for (const auto& figure : finished.figures())
        m_taken.insert('f' + figure.id);
}

std::string StepResults::nameFor(char kind, const std::string& name)
{
    const std::string key = kind + name;
    if (const auto known = m_mine.find(key); known != m_mine.end()) return known->second;
    std::string stored = m_taken.contains(key) ? fmt::format("{}_{}", name, m_step) : name;
    while (stored != name && m_taken.contains(kind + stored))
        stored += "_";
    m_taken.insert(kind + stored);
    m_mine.emplace(key, stored);
    return stored;
}

Result<std::shared_ptr<TableWriter>> StepResults::table(const TableSchema& schema)
{
    TableSchema stored = schema;
    stored.name = nameFor('t', schema.name);
    return m_outer->table(stored);
}

Status StepResults::array(std::string_view name, std::span<const std::int64_t> dims,
                          std::span<const float> values, std::string_view unit, std::string_view help)
{
    return m_outer->array(nameFor('a', std::string(name)), dims, values, unit, help);
}

Status StepResults::figure(const FigureSpec& spec)
{
    FigureSpec stored = spec;
    stored.id = nameFor('f', spec.id);
    if (stored.id != spec.id) stored.title += fmt::format(" (step {})", m_step);
    for (auto& trace : stored.traces)
        trace.table = nameFor('t', trace.table);
    return m_outer->figure(stored);
}

Status StepResults::line(LogLevel level, std::string_view text) { return m_outer->line(level, text); }

} // namespace halftone
