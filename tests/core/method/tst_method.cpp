// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/method/method.h"

#include "tests/support/main.h"

using namespace halftone;

namespace {

class NamedMethod final : public Method {
public:
    explicit NamedMethod(std::string id) { m_info.id = std::move(id); }
    const MethodInfo& info() const override { return m_info; }
    const ParamSchema& schema() const override { return m_schema; }
    std::vector<TableSchema> tables() const override { return {}; }
    std::vector<FigureSpec> figures() const override { return {}; }
    Result<MethodPlan> plan(const MethodInput&, const ParamList&) const override { return MethodPlan{}; }
    Status run(const MethodInput&, const ParamList&, JobContext&) const override { return Ok{}; }

private:
    MethodInfo m_info;
    ParamSchema m_schema;
};

class Provider final : public MethodProvider {
public:
    explicit Provider(std::vector<std::string> ids, int api = kMethodApi) : m_ids(std::move(ids)), m_api(api)
    {
    }
    int apiVersion() const override { return m_api; }
    std::vector<std::shared_ptr<const Method>> methods() const override
    {
        std::vector<std::shared_ptr<const Method>> all;
        for (const auto& id : m_ids)
            all.push_back(id == "null" ? nullptr : std::make_shared<const NamedMethod>(id));
        return all;
    }

private:
    std::vector<std::string> m_ids;
    int m_api;
};

} // namespace

class TestMethod : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void registersInOrderOfIds()
    {
        MethodRegistry registry;
        HALFTONE_VERIFY(registry.add(Provider({"rtn", "block_error"})));
        HALFTONE_VERIFY(registry.add(Provider({"gptq"})));
        QCOMPARE(registry.all().size(), std::size_t{3});
        QCOMPARE(registry.all()[0]->info().id, std::string("block_error"));
        QCOMPARE(registry.all()[1]->info().id, std::string("gptq"));
        HALFTONE_VERIFY(registry.find("rtn"));
    }

    void findListsWhatThereIs()
    {
        MethodRegistry registry;
        QVERIFY(registry.find("rtn").error().what().find("no method plugin") != std::string::npos);
        HALFTONE_VERIFY(registry.add(Provider({"rtn", "block_error"})));
        const auto missing = registry.find("gptq");
        QVERIFY(!missing);
        QCOMPARE(missing.error().code(), Errc::NotFound);
        QCOMPARE(missing.error().what(), std::string("no method \"gptq\"; there is: block_error, rtn"));
    }

    void refuses_data()
    {
        QTest::addColumn<QStringList>("ids");
        QTest::addColumn<int>("api");
        QTest::addColumn<int>("code");
        QTest::newRow("another interface")
            << QStringList{QStringLiteral("gptq")} << kMethodApi + 1 << int(Errc::Unsupported);
        QTest::newRow("taken") << QStringList{QStringLiteral("rtn")} << kMethodApi
                               << int(Errc::InvalidArgument);
        QTest::newRow("twice in one") << QStringList{QStringLiteral("a"), QStringLiteral("a")} << kMethodApi
                                      << int(Errc::InvalidArgument);
        QTest::newRow("upper case") << QStringList{QStringLiteral("Rtn")} << kMethodApi
                                    << int(Errc::InvalidArgument);
        QTest::newRow("empty") << QStringList{QString()} << kMethodApi << int(Errc::InvalidArgument);
        QTest::newRow("path") << QStringList{QStringLiteral("a/b")} << kMethodApi
                              << int(Errc::InvalidArgument);
        QTest::newRow("null") << QStringList{QStringLiteral("ok"), QStringLiteral("null")} << kMethodApi
                              << int(Errc::InvalidArgument);
    }
    // All or nothing: what was there stays as it was.
    void refuses()
    {
        QFETCH(QStringList, ids);
        QFETCH(int, api);
        QFETCH(int, code);
        MethodRegistry registry;
        HALFTONE_VERIFY(registry.add(Provider({"rtn"})));
        std::vector<std::string> wanted;
        for (const auto& id : ids)
            wanted.push_back(id.toStdString());
        const auto added = registry.add(Provider(wanted, api));
        QVERIFY(!added);
        QCOMPARE(int(added.error().code()), code);
        QCOMPARE(registry.all().size(), std::size_t{1});
    }
};

QTEST_GUILESS_MAIN(TestMethod)
#include "tst_method.moc"
