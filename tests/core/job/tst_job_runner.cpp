// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/job/job.h"
#include "tests/support/main.h"

#include <QElapsedTimer>
#include <array>
#include <atomic>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <new>
#include <semaphore>
#include <stdexcept>
#include <thread>

using namespace halftone;
using namespace std::chrono_literals;

namespace {

JobRequest request(std::function<Status(JobContext&)> body, std::string tag = {})
{
    JobRequest r;
    r.title = "test";
    r.tag = std::move(tag);
    r.body = std::move(body);
    return r;
}

/// Blocks until the job is asked to stop, as a well-behaved method does: by asking often.
Status untilStopped(JobContext& ctx)
{
    std::mutex mutex;
    std::condition_variable_any never;
    for (;;) {
        HALFTONE_CHECK(ctx.checkpoint());
        std::unique_lock lock(mutex);
        never.wait_for(lock, ctx.stop, 5ms, [] { return false; });
    }
}

} // namespace

class TestJobRunner : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void runsInOrderOneAtATime()
    {
        auto runner = JobRunner::make();
        std::vector<int> order; // guarded by: one job at a time
        std::atomic<int> inside = 0, most = 0;
        JobId last = 0;
        for (int i = 0; i < 20; ++i)
            last = runner->submit(request([&, i](JobContext&) -> Status {
                most = std::max(most.load(), ++inside);
                order.push_back(i);
                --inside;
                return Ok{};
            }));
        HALFTONE_VERIFY(runner->wait(last));
        QCOMPARE(order.size(), std::size_t{20});
        for (int i = 0; i < 20; ++i)
            QCOMPARE(order[static_cast<std::size_t>(i)], i);
        QCOMPARE(most.load(), 1);
        const auto snapshots = runner->snapshots();
        QCOMPARE(snapshots.size(), std::size_t{20});
        for (const auto& s : snapshots) {
            QCOMPARE(s.state, JobState::Succeeded);
            QCOMPARE(s.fraction, 1.0);
        }
    }

    void givesTheBodyItsContext()
    {
        auto runner = JobRunner::make();
        std::string device;
        std::uint64_t seed = 0, draw = 0;
        auto r = request([&](JobContext& ctx) -> Status {
            device = ctx.device.info().id;
            seed = ctx.rng.seed();
            draw = ctx.rng.block(1, 2)[0];
            return ctx.results.line(LogLevel::Info, "nothing keeps this");
        });
        r.seed = 42;
        HALFTONE_VERIFY(runner->wait(runner->submit(std::move(r))));
        QCOMPARE(device, std::string("cpu"));
        QCOMPARE(seed, std::uint64_t{42});
        QCOMPARE(draw, std::uint64_t{CounterRng(42).block(1, 2)[0]});
    }

    void writesIntoTheResultsOfTheRequest()
    {
        auto runner = JobRunner::make();
        auto results = MemoryResults::make({});
        auto r = request([](JobContext& ctx) { return ctx.results.line(LogLevel::Info, "kept"); });
        r.results = results;
        HALFTONE_VERIFY(runner->wait(runner->submit(std::move(r))));
        QCOMPARE(results->log().size(), std::size_t{1});
        QCOMPARE(results.use_count(), 1L); // the runner lets go of them
    }

    void cancelsWithin100ms()
    {
        auto runner = JobRunner::make();
        std::binary_semaphore running(0);
        const JobId id = runner->submit(request([&](JobContext& ctx) {
            running.release();
            return untilStopped(ctx);
        }));
        running.acquire();
        QElapsedTimer timer;
        timer.start();
        runner->cancel(id);
        const Status status = runner->wait(id);
        QVERIFY2(timer.elapsed() < 100, qPrintable(QString::number(timer.elapsed())));
        QVERIFY(!status);
        QCOMPARE(status.error().code(), Errc::Cancelled);
        QCOMPARE(runner->snapshot(id)->state, JobState::Cancelled);
    }

    void cancelsAQueuedJobAtOnce()
    {
        auto runner = JobRunner::make();
        std::binary_semaphore go(0);
        std::atomic<bool> ran = false;
        const JobId first = runner->submit(request([&](JobContext&) -> Status {
            go.acquire();
            return Ok{};
        }));
        const JobId second = runner->submit(request([&](JobContext&) -> Status {
            ran = true;
            return Ok{};
        }));
        runner->cancel(second);
        QCOMPARE(runner->snapshot(second)->state, JobState::Cancelled);
        const Status status = runner->wait(second); // while the first still runs
        QCOMPARE(status.error().code(), Errc::Cancelled);
        go.release();
        HALFTONE_VERIFY(runner->wait(first));
        QVERIFY(!ran);
        runner->cancel(first);
        QCOMPARE(runner->snapshot(first)->state, JobState::Succeeded);
    }

    void latestTagWins()
    {
        auto runner = JobRunner::make();
        std::binary_semaphore running(0);
        const JobId first = runner->submit(request(
            [&](JobContext& ctx) {
                running.release();
                return untilStopped(ctx);
            },
            "preview"));
        running.acquire();
        const JobId other = runner->submit(request([](JobContext&) -> Status { return Ok{}; }, "other"));
        std::atomic<int> ran = 0;
        std::vector<JobId> previews;
        for (int i = 0; i < 10; ++i)
            previews.push_back(runner->submit(request(
                [&](JobContext& ctx) -> Status {
                    HALFTONE_CHECK(ctx.checkpoint());
                    ++ran;
                    return Ok{};
                },
                "preview")));
        HALFTONE_VERIFY(runner->wait(previews.back()));
        HALFTONE_VERIFY(runner->wait(other));
        QCOMPARE(runner->snapshot(first)->state, JobState::Cancelled);
        for (std::size_t i = 0; i + 1 < previews.size(); ++i)
            QVERIFY(runner->snapshot(previews[i])->state != JobState::Queued);
        QCOMPARE(runner->snapshot(previews.back())->state, JobState::Succeeded);
        QVERIFY(ran >= 1);
    }

    void turnsExceptionsIntoErrors_data()
    {
        QTest::addColumn<int>("what");
        QTest::addColumn<int>("code");
        QTest::newRow("bad_alloc") << 0 << static_cast<int>(Errc::OutOfMemory);
        QTest::newRow("exception") << 1 << static_cast<int>(Errc::Internal);
        QTest::newRow("number") << 2 << static_cast<int>(Errc::Internal);
        QTest::newRow("error") << 3 << static_cast<int>(Errc::Numeric);
        QTest::newRow("nothing to do") << 4 << static_cast<int>(Errc::InvalidArgument);
    }
    void turnsExceptionsIntoErrors()
    {
        QFETCH(int, what);
        QFETCH(int, code);
        auto runner = JobRunner::make();
        auto r = request([what](JobContext&) -> Status {
            if (what == 0) throw std::bad_alloc();
            if (what == 1) throw std::runtime_error("boom");
            if (what == 2) throw 5;
            return Error(Errc::Numeric, "not positive definite").in("tensor x");
        });
        if (what == 4) r.body = nullptr;
        const JobId id = runner->submit(std::move(r));
        const Status status = runner->wait(id);
        QVERIFY(!status);
        QCOMPARE(static_cast<int>(status.error().code()), code);
        const auto snapshot = runner->snapshot(id);
        QCOMPARE(snapshot->state, JobState::Failed);
        QVERIFY(snapshot->error.has_value());
        if (what == 1) QVERIFY(snapshot->error->what().find("boom") != std::string::npos);
        // The runner still works.
        HALFTONE_VERIFY(runner->wait(runner->submit(request([](JobContext&) -> Status { return Ok{}; }))));
    }

    void refusesAnUnknownDevice()
    {
        auto runner = JobRunner::make();
        auto r = request([](JobContext&) -> Status { return Ok{}; });
        r.deviceId = "abacus:0";
        const Status status = runner->wait(runner->submit(std::move(r)));
        QVERIFY(!status);
        QCOMPARE(status.error().code(), Errc::NotFound);
    }

    void progressNeverGoesBack()
    {
        auto runner = JobRunner::make();
        std::atomic<bool> over = false;
        const JobId id = runner->submit(request([&](JobContext& ctx) -> Status {
            const std::array<std::pair<std::string_view, double>, 3> stages{
                {{"read", 1.0}, {"work", 8.0}, {"write", 1.0}}};
            ctx.progress.declare(stages);
            for (const auto& stage : stages) {
                ctx.progress.enter(stage.first, 2000);
                for (int i = 0; i < 3000; ++i) { // more than were announced
                    ctx.progress.advance();
                    if (i % 100 == 0) ctx.progress.detail(std::to_string(i));
                }
            }
            ctx.progress.enter("read", 10);            // again
            ctx.progress.declare(stages);              // a method inside shares out what is left
            ctx.progress.enter("never declared", 100); // counts nothing
            ctx.progress.advance(50);
            over = true;
            return Ok{};
        }));
        double last = 0;
        std::uint64_t version = 0;
        while (!over) {
            const auto s = runner->snapshot(id);
            QVERIFY(s.has_value());
            QVERIFY(s->fraction >= last && s->fraction <= 1);
            QVERIFY(s->version >= version);
            last = s->fraction;
            version = s->version;
        }
        HALFTONE_VERIFY(runner->wait(id));
        // The last look of the loop may already have seen the job's end.
        const auto end = runner->snapshot(id);
        QVERIFY(end->version >= version && end->version > 0);
        QCOMPARE(end->fraction, 1.0);
    }

    void weighsStages()
    {
        auto runner = JobRunner::make();
        std::vector<std::pair<double, std::string>> seen;
        JobRunner* raw = runner.get();
        std::atomic<JobId> id = 0;
        std::latch known(1);
        id = runner->submit(request([&](JobContext& ctx) -> Status {
            known.wait();
            const auto look = [&] {
                const auto s = raw->snapshot(id);
                seen.emplace_back(s->fraction, s->stage);
            };
            const std::array<std::pair<std::string_view, double>, 3> stages{
                {{"a", 1.0}, {"b", 2.0}, {"c", 1.0}}};
            ctx.progress.declare(stages);
            ctx.progress.enter("a", 4);
            ctx.progress.advance(2);
            look();
            ctx.progress.enter("b", 10);
            ctx.progress.detail("layers.7.attn.q");
            ctx.progress.advance(5);
            look();
            ctx.progress.enter("c", 0);
            look();
            return Ok{};
        }));
        known.count_down();
        HALFTONE_VERIFY(runner->wait(id));
        QCOMPARE(seen.size(), std::size_t{3});
        QCOMPARE(seen[0].first, 0.125);
        QCOMPARE(seen[0].second, std::string("a"));
        QCOMPARE(seen[1].first, 0.5);
        QCOMPARE(seen[1].second, std::string("b: layers.7.attn.q"));
        QCOMPARE(seen[2].first, 0.75);
    }

    void forecastsFromTheSpeed()
    {
        auto runner = JobRunner::make();
        std::binary_semaphore halfway(0), go(0);
        const JobId id = runner->submit(request([&](JobContext& ctx) -> Status {
            ctx.progress.enter("work", 100);
            for (int i = 0; i < 60; ++i) {
                std::this_thread::sleep_for(10ms); // stands for work
                ctx.progress.advance();
            }
            halfway.release();
            go.acquire();
            return Ok{};
        }));
        QVERIFY(!runner->snapshot(id)->remaining.has_value());
        halfway.acquire();
        const auto s = runner->snapshot(id);
        go.release();
        QCOMPARE(s->fraction, 0.6);
        QVERIFY(s->remaining.has_value());
        // 60 items took `elapsed`; 40 are left.
        const double expected = static_cast<double>(s->elapsed.count()) * 40 / 60;
        const auto told = static_cast<double>(s->remaining->count());
        QVERIFY2(std::abs(told - expected) < 0.2 * expected, qPrintable(QString::number(told / expected)));
        HALFTONE_VERIFY(runner->wait(id));
        QVERIFY(!runner->snapshot(id)->remaining.has_value());
    }

    void aPausedJobStandsStill()
    {
        auto runner = JobRunner::make();
        std::atomic<int> steps = 0;
        std::binary_semaphore running(0);
        const JobId id = runner->submit(request([&](JobContext& ctx) -> Status {
            running.release();
            while (steps < 1'000'000'000) {
                HALFTONE_CHECK(ctx.checkpoint());
                ++steps;
                std::this_thread::sleep_for(1ms);
            }
            return Ok{};
        }));
        running.acquire();
        QVERIFY(!runner->snapshot(id)->paused);
        const std::uint64_t version = runner->snapshot(id)->version;
        runner->pause(id);
        QVERIFY(runner->snapshot(id)->paused);
        QVERIFY(runner->snapshot(id)->version > version);
        std::this_thread::sleep_for(20ms); // the step under way ends
        const int before = steps;
        const auto elapsed = runner->snapshot(id)->elapsed;
        std::this_thread::sleep_for(50ms);
        QCOMPARE(steps.load(), before);
        QCOMPARE(runner->snapshot(id)->elapsed, elapsed);
        QCOMPARE(runner->snapshot(id)->state, JobState::Running);
        runner->resume(id);
        QVERIFY(!runner->snapshot(id)->paused);
        QVERIFY(QTest::qWaitFor([&] { return steps > before; }, 2000));
        // Cancelling wakes it.
        runner->pause(id);
        std::this_thread::sleep_for(20ms);
        QElapsedTimer timer;
        timer.start();
        runner->cancel(id);
        const Status status = runner->wait(id);
        QVERIFY2(timer.elapsed() < 100, qPrintable(QString::number(timer.elapsed())));
        QCOMPARE(status.error().code(), Errc::Cancelled);
        QVERIFY(!runner->snapshot(id)->paused);
    }

    void destructorEndsAPausedJob()
    {
        QElapsedTimer timer;
        {
            auto runner = JobRunner::make();
            std::binary_semaphore running(0);
            const JobId id = runner->submit(request([&](JobContext& ctx) {
                running.release();
                return untilStopped(ctx);
            }));
            running.acquire();
            runner->pause(id);
            std::this_thread::sleep_for(20ms);
            timer.start();
        }
        QVERIFY(timer.elapsed() < 200);
    }

    void onlyARunningJobCanBePaused()
    {
        auto runner = JobRunner::make();
        std::binary_semaphore running(0), go(0);
        const JobId first = runner->submit(request([&](JobContext&) -> Status {
            running.release();
            go.acquire();
            return Ok{};
        }));
        const JobId second = runner->submit(request([](JobContext& ctx) { return ctx.checkpoint(); }));
        running.acquire();
        runner->pause(second);
        QVERIFY(!runner->snapshot(second)->paused);
        runner->pause(9999);
        runner->resume(9999);
        go.release();
        HALFTONE_VERIFY(runner->wait(second)); // not held by the pause that did nothing
        HALFTONE_VERIFY(runner->wait(first));
    }

    void forecastLeavesPausesOut()
    {
        auto runner = JobRunner::make();
        std::binary_semaphore halfway(0), looked(0);
        const JobId id = runner->submit(request([&](JobContext& ctx) -> Status {
            ctx.progress.enter("work", 100);
            for (int i = 0; i < 60; ++i) {
                std::this_thread::sleep_for(10ms); // stands for work
                ctx.progress.advance();
                if (i == 29) halfway.release();
                HALFTONE_CHECK(ctx.checkpoint());
            }
            looked.acquire();
            return Ok{};
        }));
        halfway.acquire();
        runner->pause(id);
        std::this_thread::sleep_for(700ms); // as long as all the work
        runner->resume(id);
        QVERIFY(QTest::qWaitFor([&] { return runner->snapshot(id)->fraction >= 0.6; }, 5000));
        const auto s = runner->snapshot(id);
        looked.release();
        QVERIFY(s->remaining.has_value());
        const double expected = static_cast<double>(s->elapsed.count()) * 40 / 60;
        const auto told = static_cast<double>(s->remaining->count());
        QVERIFY2(std::abs(told - expected) < 0.3 * expected, qPrintable(QString::number(told / expected)));
        QVERIFY2(s->elapsed < 1200ms, qPrintable(QString::number(s->elapsed.count())));
        HALFTONE_VERIFY(runner->wait(id));
    }

    void destructorStopsEverything()
    {
        std::atomic<int> stopped = 0;
        std::binary_semaphore running(0);
        QElapsedTimer timer;
        {
            auto runner = JobRunner::make();
            std::ignore = runner->submit(request([&](JobContext& ctx) {
                running.release();
                const Status s = untilStopped(ctx);
                ++stopped;
                return s;
            }));
            for (int i = 0; i < 5; ++i)
                std::ignore = runner->submit(request([&](JobContext&) -> Status {
                    stopped += 100; // a queued job must not start any more
                    return Ok{};
                }));
            running.acquire();
            timer.start();
        }
        QVERIFY(timer.elapsed() < 200);
        QCOMPARE(stopped.load(), 1);
    }

    void aJobCannotWaitForAnother()
    {
        auto runner = JobRunner::make();
        JobRunner* raw = runner.get();
        Errc code = Errc::Internal;
        const JobId id = runner->submit(request([&](JobContext&) -> Status {
            const JobId inner = raw->submit(request([](JobContext&) -> Status { return Ok{}; }));
            const Status s = raw->wait(inner);
            if (!s) code = s.error().code();
            return Ok{};
        }));
        HALFTONE_VERIFY(runner->wait(id));
        QCOMPARE(code, Errc::InvalidArgument);
        QCOMPARE(runner->wait(9999).error().code(), Errc::NotFound);
        QVERIFY(!runner->snapshot(9999).has_value());
    }

    void manyThreadsMayAskAndCancel()
    {
        auto runner = JobRunner::make();
        std::atomic<bool> over = false;
        std::vector<std::jthread> watchers;
        for (int t = 0; t < 3; ++t)
            watchers.emplace_back([&, t] {
                while (!over) {
                    const auto all = runner->snapshots();
                    if (t == 0 && !all.empty()) runner->cancel(all.back().id);
                }
            });
        JobId last = 0;
        for (int i = 0; i < 400; ++i)
            last = runner->submit(request(
                [](JobContext& ctx) -> Status {
                    ctx.progress.enter("x", 10);
                    ctx.progress.advance(10);
                    return ctx.checkpoint();
                },
                i % 3 == 0 ? "tag" : ""));
        const Status status = runner->wait(last);
        QVERIFY(status || status.error().code() == Errc::Cancelled);
        over = true;
        watchers.clear();
        QVERIFY(runner->snapshots().size() <= 400);
    }

    void nullResultsRefuseWhatWritersRefuse()
    {
        const TableSchema schema{
            "t", "", {{"a", Column::Type::Name, "", ""}, {"b", Column::Type::Real, "", ""}}};
        auto table = nullResults().table(schema);
        HALFTONE_VERIFY(table);
        const std::array good{(*table)->nameId(0, "x"), 1.5};
        HALFTONE_VERIFY((*table)->append(good));
        const std::array bad{7.0, 1.5};
        QVERIFY(!(*table)->append(bad));
        QVERIFY(!nullResults().table({"", "", {}}));
    }
};

QTEST_GUILESS_MAIN(TestJobRunner)
#include "tst_job_runner.moc"
