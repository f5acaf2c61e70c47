// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/sweep.h"

#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <numeric>

namespace halftone {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// States kept in the exact search; more are cut to the most promising.
constexpr std::size_t kMostStates = 2048;
/// A plan this close to the bound is good enough to stop at.
constexpr double kGoodGap = 1e-4;

struct Option {
    std::uint32_t point = 0;
    double bytes = 0, noise = 0;
};

/// A weight with its undominated options, by growing bytes and falling noise.
struct Item {
    std::uint32_t weight = 0;
    std::string name;
    std::vector<Option> options;
    std::vector<std::uint32_t> hull; ///< indices into options: the lower-left convex hull
};

struct Problem {
    std::vector<Item> items; ///< by name
    double fixedBytes = 0, signal = 0, elements = 0;
};

/// Leaves out options that another one beats in both, and finds the convex hull of the rest.
void prepare(Item& item)
{
    auto& options = item.options;
    std::sort(options.begin(), options.end(), [](const Option& a, const Option& b) {
        return a.bytes != b.bytes   ? a.bytes < b.bytes
               : a.noise != b.noise ? a.noise < b.noise
                                    : a.point < b.point;
    });
    std::vector<Option> kept;
    for (const auto& o : options)
        if (kept.empty() || o.noise < kept.back().noise) kept.push_back(o);
    options = std::move(kept);
    const auto slope = [&](std::uint32_t a, std::uint32_t b) {
        return (options[a].noise - options[b].noise) / (options[b].bytes - options[a].bytes);
    };
    auto& hull = item.hull;
    for (std::uint32_t i = 0; i < options.size(); ++i) {
        while (hull.size() >= 2 && slope(hull[hull.size() - 2], hull.back()) <= slope(hull.back(), i))
            hull.pop_back();
        hull.push_back(i);
    }
}

Result<Problem> readProblem(const ResultReader& sweep)
{
    if (sweep.rows("pareto") <= 0)
        return Error(Errc::NotFound, "the results hold no finished sweep (table \"pareto\"): run one first");
    HALFTONE_TRY(points, sweep.column("sweep", "point"));
    HALFTONE_TRY(weights, sweep.column("sweep", "weight"));
    HALFTONE_TRY(nameIds, sweep.column("sweep", "name"));
    HALFTONE_TRY(names, sweep.names("sweep", "name"));
    HALFTONE_TRY(bytes, sweep.column("sweep", "bytes"));
    HALFTONE_TRY(signal, sweep.column("sweep", "signal"));
    HALFTONE_TRY(noise, sweep.column("sweep", "noise"));
    HALFTONE_TRY(fixed, sweep.column("pareto", "fixed_bytes"));
    HALFTONE_TRY(allBytes, sweep.column("pareto", "bytes"));
    HALFTONE_TRY(bits, sweep.column("pareto", "bits_per_weight"));
    Problem problem;
    for (std::size_t i = 0; i < fixed.size(); ++i) // the dearest one: a mixture may need any of them
        problem.fixedBytes = std::max(problem.fixedBytes, fixed[i]);
    if (!bits.empty() && bits[0] > 0) problem.elements = 8.0 * allBytes[0] / bits[0];
    std::map<std::uint32_t, Item> items;
    std::map<std::uint32_t, double> signals;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (!(noise[i] >= 0) || !std::isfinite(noise[i]) || !(bytes[i] >= 0) || !std::isfinite(bytes[i]))
            continue;
        if (!(weights[i] >= 0 && weights[i] < 4294967295.0) || !(points[i] >= 0 && points[i] < 4294967295.0))
            continue;
        const auto weight = static_cast<std::uint32_t>(weights[i]);
        auto& item = items[weight];
        item.weight = weight;
        const auto nameId = static_cast<std::size_t>(nameIds[i]);
        if (nameId < names.size()) item.name = names[nameId];
        item.options.push_back({static_cast<std::uint32_t>(points[i]), bytes[i], noise[i]});
        signals[weight] = signal[i];
    }
    for (auto& [weight, item] : items) {
        prepare(item);
        problem.items.push_back(std::move(item));
        problem.signal += signals[weight];
    }
    // Ties are broken by name, so that the order of the tensors in the file does not matter.
    std::sort(problem.items.begin(), problem.items.end(), [](const Item& a, const Item& b) {
        return a.name != b.name ? a.name < b.name : a.weight < b.weight;
    });
    if (problem.items.empty()) return Error(Errc::NotFound, "the sweep measured no weights");
    return problem;
}

/// Multiple-choice knapsack: one option an item, bytes within the budget, least noise. Greedy along the
/// convex hulls gives a plan and, by Lagrange's bound at the slope where it stops, how far from the best
/// it can be; what the bound leaves open is searched exactly.
class Solver {
public:
    Solver(const std::vector<Item>& items, double budget) : m_items(items), m_budget(budget) {}

    std::vector<std::uint32_t> solve()
    {
        greedy();
        repair();
        if (m_slope > 0) refine();
        return m_best;
    }

private:
    struct Step {
        std::uint32_t item, from, to;
        double slope;
    };

    const Option& option(std::size_t item, std::uint32_t choice) const
    {
        return m_items[item].options[choice];
    }

    void greedy()
    {
        std::vector<Step> steps;
        m_best.assign(m_items.size(), 0);
        for (std::uint32_t i = 0; i < m_items.size(); ++i) {
            const auto& hull = m_items[i].hull;
            for (std::size_t h = 1; h < hull.size(); ++h) {
                const auto& a = option(i, hull[h - 1]);
                const auto& b = option(i, hull[h]);
                steps.push_back({i, hull[h - 1], hull[h], (a.noise - b.noise) / (b.bytes - a.bytes)});
            }
        }
        // Items are in order of name, so a stable sort breaks ties by name.
        std::stable_sort(steps.begin(), steps.end(),
                         [](const Step& a, const Step& b) { return a.slope > b.slope; });
        double used = bytesOf(m_best);
        for (const auto& step : steps) {
            // A step that did not fit leaves its item where it is.
            if (m_best[step.item] != step.from) continue;
            const double more = option(step.item, step.to).bytes - option(step.item, step.from).bytes;
            if (used + more <= m_budget) {
                m_best[step.item] = step.to;
                used += more;
            } else if (m_slope == 0) {
                m_slope = step.slope;
            }
        }
    }

    double bytesOf(const std::vector<std::uint32_t>& choice) const
    {
        double sum = 0;
        for (std::size_t i = 0; i < choice.size(); ++i)
            sum += option(i, choice[i]).bytes;
        return sum;
    }
    double noiseOf(const std::vector<std::uint32_t>& choice) const
    {
        double sum = 0;
        for (std::size_t i = 0; i < choice.size(); ++i)
            sum += option(i, choice[i]).noise;
        return sum;
    }

    /// Fills what is left of the budget with the single changes that gain most, off the hulls too.
    void repair()
    {
        for (std::size_t round = 0; round < m_items.size(); ++round) {
            const double room = m_budget - bytesOf(m_best);
            double gain = 0;
            std::size_t item = 0;
            std::uint32_t choice = 0;
            for (std::size_t i = 0; i < m_items.size(); ++i) {
                const auto& now = option(i, m_best[i]);
                for (std::uint32_t c = m_best[i] + 1; c < m_items[i].options.size(); ++c) {
                    const auto& next = option(i, c);
                    if (next.bytes - now.bytes > room) break;
                    if (now.noise - next.noise > gain) {
                        gain = now.noise - next.noise;
                        item = i;
                        choice = c;
                    }
                }
            }
            if (gain <= 0) return;
            m_best[item] = choice;
        }
    }

    struct State {
        double bytes, noise, reduced; ///< reduced: how much the choices so far lie above the bound
        std::uint32_t parent, choice;
    };

    /// Reduced cost of an option: its noise and bytes, priced at the slope, above the item's best.
    double reducedCost(std::size_t item, std::uint32_t choice) const
    {
        return option(item, choice).noise + m_slope * option(item, choice).bytes - m_floor[item];
    }

    /// Searches all plans that the bound does not rule out.
    void refine()
    {
        const double bound = lowerBound();
        double best = noiseOf(m_best);
        if (best - bound <= kGoodGap * best) return;
        const double gap = best - bound;
        // Options above the gap can't be in a better plan.
        std::vector<std::vector<std::uint32_t>> open(m_items.size());
        double cheapest = 0;
        for (std::size_t i = 0; i < m_items.size(); ++i) {
            for (std::uint32_t c = 0; c < m_items[i].options.size(); ++c)
                if (reducedCost(i, c) < gap) open[i].push_back(c);
            if (open[i].empty()) return;
            cheapest += option(i, open[i].front()).bytes;
        }
        std::vector<std::vector<State>> layers{{State{0, 0, 0, 0, 0}}};
        for (std::size_t i = 0; i < m_items.size(); ++i) {
            cheapest -= option(i, open[i].front()).bytes;
            layers.push_back(expand(layers.back(), i, open[i], m_budget - cheapest, gap));
            if (layers.back().empty()) return;
        }
        const auto& last = layers.back();
        const auto least = std::min_element(last.begin(), last.end(),
                                            [](const State& a, const State& b) { return a.noise < b.noise; });
        if (least->noise >= best) return;
        auto at = static_cast<std::size_t>(least - last.begin());
        for (std::size_t i = m_items.size(); i-- > 0;) {
            m_best[i] = layers[i + 1][at].choice;
            at = layers[i + 1][at].parent;
        }
    }

    double lowerBound()
    {
        double sum = -m_slope * m_budget;
        m_floor.assign(m_items.size(), kInfinity);
        for (std::size_t i = 0; i < m_items.size(); ++i) {
            for (const auto& o : m_items[i].options)
                m_floor[i] = std::min(m_floor[i], o.noise + m_slope * o.bytes);
            sum += m_floor[i];
        }
        return sum;
    }

    std::vector<State> expand(const std::vector<State>& from, std::size_t item,
                              const std::vector<std::uint32_t>& open, double mostBytes, double gap) const
    {
        std::vector<State> next;
        for (std::uint32_t s = 0; s < from.size(); ++s)
            for (const auto c : open) {
                const auto& o = option(item, c);
                const State state{from[s].bytes + o.bytes, from[s].noise + o.noise,
                                  from[s].reduced + reducedCost(item, c), s, c};
                if (state.bytes <= mostBytes && state.reduced < gap) next.push_back(state);
            }
        // One option moves all states alike: their order and who beats whom stay as they were.
        if (open.size() == 1) return next;
        std::sort(next.begin(), next.end(), [](const State& a, const State& b) {
            return a.bytes != b.bytes   ? a.bytes < b.bytes
                   : a.noise != b.noise ? a.noise < b.noise
                                        : std::pair(a.parent, a.choice) < std::pair(b.parent, b.choice);
        });
        // A state with more bytes and no less noise than another can't end up better.
        double least = kInfinity;
        std::erase_if(next, [&](const State& s) {
            if (s.noise >= least) return true;
            least = s.noise;
            return false;
        });
        if (next.size() > kMostStates) {
            std::stable_sort(next.begin(), next.end(),
                             [](const State& a, const State& b) { return a.reduced < b.reduced; });
            next.resize(kMostStates);
        }
        return next;
    }

    const std::vector<Item>& m_items;
    double m_budget;
    double m_slope = 0; ///< noise saved a byte where the budget ends; 0: everything fits
    std::vector<double> m_floor;
    std::vector<std::uint32_t> m_best;
};

} // namespace

Result<BudgetPlan> solveBudget(const ResultReader& sweep, double maxBytes)
{
    HALFTONE_TRY(problem, readProblem(sweep));
    double least = problem.fixedBytes;
    for (const auto& item : problem.items)
        least += item.options.front().bytes;
    if (!(maxBytes >= least))
        return Error(
            Errc::InvalidArgument,
            fmt::format("the smallest plan of this sweep needs {}: raise the budget or sweep fewer bits",
                        humanBytes(static_cast<std::uint64_t>(least))));
    const auto choice = Solver(problem.items, maxBytes - problem.fixedBytes).solve();
    // By weight, as the checkpoint has them.
    std::vector<std::size_t> order(problem.items.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return problem.items[a].weight < problem.items[b].weight;
    });
    BudgetPlan plan;
    plan.bytes = problem.fixedBytes;
    double noise = 0;
    for (const auto i : order) {
        const auto& option = problem.items[i].options[choice[i]];
        plan.weights.push_back(problem.items[i].weight);
        plan.choice.push_back(option.point);
        plan.bytes += option.bytes;
        noise += option.noise;
    }
    plan.bitsPerWeight = problem.elements > 0 ? 8.0 * plan.bytes / problem.elements : 0;
    plan.sqnr = noise > 0 ? -10.0 * std::log10(noise / problem.signal) : kInfinity;
    return plan;
}

} // namespace halftone
