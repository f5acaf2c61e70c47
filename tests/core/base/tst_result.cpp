// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/result.h"

#include "tests/support/main.h"

#include <memory>

using namespace halftone;

class TstResult : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void holdsEither();
    void movesOnlyTypes();
    void contextIsInnermostFirst();
    void oneLine();
    void macrosReturnEarly();
    void exitCodes();
};

void TstResult::holdsEither()
{
    const Result<int> good = 7;
    QVERIFY(good);
    QCOMPARE(*good, 7);
    const Result<int> bad = Error(Errc::NotFound, "no such file");
    QVERIFY(!bad);
    QVERIFY(bad.error().code() == Errc::NotFound);
    QCOMPARE(bad.error().what(), std::string("no such file"));
}

void TstResult::movesOnlyTypes()
{
    Result<std::unique_ptr<int>> r = std::make_unique<int>(3);
    QVERIFY(r);
    const std::unique_ptr<int> taken = *std::move(r);
    QCOMPARE(*taken, 3);
}

void TstResult::contextIsInnermostFirst()
{
    const Result<int> r =
        Result<int>(Error(Errc::Numeric, "NaN at 3")).in("tensor blk.3.ffn_up").in("file model.gguf");
    QCOMPARE(r.error().trail().size(), std::size_t{2});
    QCOMPARE(r.error().trail()[0], std::string("tensor blk.3.ffn_up"));
    QCOMPARE(r.error().line(), std::string("file model.gguf: tensor blk.3.ffn_up: NaN at 3"));
    const Result<int> good = Result<int>(4).in("nowhere");
    QCOMPARE(*good, 4);
}

void TstResult::oneLine()
{
    const Error e = Error(Errc::BadFormat, "bad\nname").in("tensor a\r\nb");
    QCOMPARE(e.line(), std::string("tensor a  b: bad name"));
}

void TstResult::macrosReturnEarly()
{
    int reached = 0;
    const auto steps = [&](bool first, bool second) -> Result<int> {
        HALFTONE_CHECK(first ? Status(Ok{}) : Status(Error(Errc::Io, "one")));
        ++reached;
        HALFTONE_TRY(value, second ? Result<int>(5) : Result<int>(Error(Errc::Io, "two")));
        ++reached;
        return value + 1;
    };
    QCOMPARE(*steps(true, true), 6);
    QCOMPARE(reached, 2);
    reached = 0;
    QCOMPARE(steps(true, false).error().what(), std::string("two"));
    QCOMPARE(reached, 1);
    reached = 0;
    QCOMPARE(steps(false, true).error().what(), std::string("one"));
    QCOMPARE(reached, 0);
}

// The numbers are a promise to scripts.
void TstResult::exitCodes()
{
    const std::pair<Errc, int> codes[]{
        {Errc::Cancelled, 130}, {Errc::InvalidArgument, 2}, {Errc::NotFound, 2},    {Errc::Io, 3},
        {Errc::CannotWrite, 4}, {Errc::BadFormat, 3},       {Errc::Unsupported, 2}, {Errc::OutOfMemory, 1},
        {Errc::Device, 1},      {Errc::Numeric, 5},         {Errc::CheckFailed, 6}, {Errc::Internal, 1}};
    for (const auto& [code, number] : codes)
        QCOMPARE(exitCode(code), number);
}

QTEST_GUILESS_MAIN(TstResult)
#include "tst_result.moc"
