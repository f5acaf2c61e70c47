// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/rng.h"

#include "tests/support/main.h"

#include <cmath>
#include <set>

using namespace halftone;
using Block = std::array<std::uint32_t, 4>;

class TstRng : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void philoxKnownAnswers();
    void splitMixKnownAnswers();
    void fnvKnownAnswers();
    void uniforms();
    void streamsDiffer();
};

// The vectors of the authors' own test (Random123, kat_vectors): counter words, key words, answer.
void TstRng::philoxKnownAnswers()
{
    const CounterRng zero(0);
    QVERIFY(zero.block(0, 0) == (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    const CounterRng ones(0xffffffffffffffff);
    QVERIFY(ones.block(0xffffffffffffffff, 0xffffffffffffffff) ==
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    const CounterRng pi(0x299f31d0a4093822);
    QVERIFY(pi.block(0x0370734413198a2e, 0x85a308d3243f6a88) ==
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

void TstRng::splitMixKnownAnswers()
{
    SplitMix64 rng(1234567);
    const std::uint64_t expected[]{6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                   4593380528125082431u, 16408922859458223821u};
    for (const std::uint64_t value : expected)
        QCOMPARE(rng.next(), value);
}

void TstRng::fnvKnownAnswers()
{
    QCOMPARE(fnv1a64(""), std::uint64_t{0xcbf29ce484222325});
    QCOMPARE(fnv1a64("a"), std::uint64_t{0xaf63dc4c8601ec8c});
    QCOMPARE(fnv1a64("foobar"), std::uint64_t{0x85944171f73967e8});
}

void TstRng::uniforms()
{
    const CounterRng rng(7);
    double sum = 0, squares = 0;
    constexpr int kCount = 20000;
    for (std::uint64_t i = 0; i < kCount; ++i) {
        const double u = rng.uniform(3, i);
        QVERIFY(u > 0 && u < 1);
        QVERIFY(u == rng.uniform(3, i));
        sum += u;
        squares += u * u;
    }
    // Within five standard errors.
    QVERIFY(std::fabs(sum / kCount - 0.5) < 5 * 0.2887 / std::sqrt(kCount));
    QVERIFY(std::fabs(squares / kCount - 1.0 / 3) < 0.011);
}

void TstRng::streamsDiffer()
{
    std::set<std::uint64_t> seen;
    for (std::uint64_t seed : {1u, 2u})
        for (std::uint64_t stream = 0; stream < 20; ++stream)
            for (std::uint64_t index = 0; index < 20; ++index) {
                const auto b = CounterRng(seed).block(stream, index);
                QVERIFY(seen.insert(std::uint64_t{b[0]} << 32 | b[1]).second);
            }
}

QTEST_GUILESS_MAIN(TstRng)
#include "tst_rng.moc"
