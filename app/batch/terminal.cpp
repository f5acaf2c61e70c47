// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/batch/terminal.h"

#include "core/base/text.h"

#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace halftone::batch {

namespace {

volatile std::sig_atomic_t g_interrupted = 0;

extern "C" void onInterrupt(int number)
{
    g_interrupted = 1;
    // Who asks twice does not want to wait for a clean end.
    std::signal(number, SIG_DFL);
}

std::string barOf(double fraction)
{
    constexpr int kWidth = 20;
    const int full = static_cast<int>(fraction * kWidth);
    return std::string(static_cast<std::size_t>(full), '#') +
           std::string(static_cast<std::size_t>(kWidth - full), '.');
}

std::string lineOf(const JobSnapshot& job)
{
    auto line = fmt::format("{} [{}] {:3.0f} %", job.title, barOf(job.fraction), 100 * job.fraction);
    if (job.remaining) line += fmt::format("  {} left", humanDuration(*job.remaining));
    if (!job.stage.empty()) line += "  " + job.stage;
    return line;
}

} // namespace

InterruptWatch::InterruptWatch()
{
    g_interrupted = 0;
    std::signal(SIGINT, onInterrupt);
    std::signal(SIGTERM, onInterrupt);
}

InterruptWatch::~InterruptWatch()
{
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
}

bool InterruptWatch::requested() { return g_interrupted != 0; }

TerminalProgress::TerminalProgress() : m_terminal(::isatty(STDERR_FILENO) != 0) {}

void TerminalProgress::show(const JobSnapshot& job)
{
    using namespace std::chrono_literals;
    if (m_terminal) {
        if (m_shown && job.elapsed - m_last < 100ms) return;
        auto line = lineOf(job);
        constexpr std::size_t kWidth = 110;
        if (line.size() > kWidth) line.resize(kWidth);
        m_last = job.elapsed;
        if (line == m_line) return;
        m_line = line;
        m_shown = true;
        // To the start, the line, and nothing of the old one behind it.
        fmt::print(stderr, "\r{}\x1b[K", line);
        std::fflush(stderr);
        return;
    }
    const int tenth = static_cast<int>(job.fraction * 10);
    const bool late = job.elapsed - m_last >= 30s;
    // Jobs of a second or two say nothing on the way.
    if (job.elapsed < 2s || (tenth <= m_tenth && !late)) return;
    m_tenth = tenth;
    m_last = job.elapsed;
    fmt::print(stderr, "{}\n", lineOf(job));
}

void TerminalProgress::clear()
{
    if (!m_shown) return;
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
    m_shown = false;
}

} // namespace halftone::batch
