// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/hash.h"

#include "tests/support/main.h"

using namespace halftone;

class TstHash : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void knownAnswers();
    void piecesDoNotMatter();
    void everyBitMatters();
};

namespace {

std::string hashOf(std::string_view text)
{
    Hasher h;
    h.add(text);
    return h.hex();
}

} // namespace

// As the program xxh128sum prints them.
void TstHash::knownAnswers()
{
    QCOMPARE(hashOf(""), std::string("99aa06d3014798d86001c324468d497f"));
    QCOMPARE(hashOf("abc"), std::string("06b05ab6733a618578af5f94892f3950"));
}

void TstHash::piecesDoNotMatter()
{
    const std::string text(5000, 'q');
    Hasher pieces;
    for (std::size_t at = 0; at < text.size(); at += 37)
        pieces.add(std::as_bytes(std::span(text).subspan(at, std::min<std::size_t>(37, text.size() - at))));
    QCOMPARE(pieces.hex(), hashOf(text));
    // Asking does not end the stream.
    QCOMPARE(pieces.hex(), hashOf(text));
    pieces.add("more");
    QCOMPARE(pieces.hex(), hashOf(text + "more"));
    Hasher nothing;
    nothing.add(std::span<const std::byte>());
    QCOMPARE(nothing.hex(), hashOf(""));
}

void TstHash::everyBitMatters()
{
    std::string text(100, '\0');
    const std::string before = hashOf(text);
    for (std::size_t i = 0; i < text.size(); ++i) {
        text[i] = 1;
        QVERIFY(hashOf(text) != before);
        text[i] = 0;
    }
}

QTEST_GUILESS_MAIN(TstHash)
#include "tst_hash.moc"
