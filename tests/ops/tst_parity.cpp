// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/ops/parity_cases.h"
#include "tests/support/main.h"

#include <string_view>

using namespace halftone;

// Every op on every device against the plain reference: packed codes to the byte, decoded values to the
// bit, products to a normalised mean square error of 1e-7. Other modes: "perf [pattern]", "support".
class TstParity : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void matchesReference_data();
    void matchesReference();
    void supportsAgreesWithRun_data();
    void supportsAgreesWithRun();
    void otherDevices();

private:
    std::vector<std::shared_ptr<Device>> m_devices = test::usableDevices();
    std::vector<test::Case> m_cases = test::allCases();
};

void TstParity::matchesReference_data()
{
    QTest::addColumn<qsizetype>("device");
    QTest::addColumn<QList<qsizetype>>("cases");
    // A row a device, op and dtype: its formats are one row's loop.
    for (std::size_t d = 0; d < m_devices.size(); ++d) {
        QList<qsizetype> cases;
        for (std::size_t c = 0; c < m_cases.size(); ++c) {
            const test::Case& what = m_cases[c];
            if (m_devices[d]->supports(what.op, what.dtype, what.format)) cases << static_cast<qsizetype>(c);
            const bool last =
                c + 1 == m_cases.size() || m_cases[c + 1].op != what.op || m_cases[c + 1].dtype != what.dtype;
            if (last && !cases.isEmpty())
                QTest::addRow("%s %s %s", m_devices[d]->info().id.c_str(),
                              std::string(nameOf(what.op)).c_str(), std::string(nameOf(what.dtype)).c_str())
                    << static_cast<qsizetype>(d) << cases;
            if (last) cases.clear();
        }
    }
}

void TstParity::matchesReference()
{
    QFETCH(qsizetype, device);
    QFETCH(QList<qsizetype>, cases);
    for (const qsizetype index : cases) {
        const test::Case& what = m_cases[static_cast<std::size_t>(index)];
        HALFTONE_VERIFY(
            test::compareWithReference(*m_devices[static_cast<std::size_t>(device)], what).in(what.name()));
    }
}

void TstParity::supportsAgreesWithRun_data()
{
    QTest::addColumn<qsizetype>("device");
    for (std::size_t d = 0; d < m_devices.size(); ++d)
        QTest::newRow(m_devices[d]->info().id.c_str()) << static_cast<qsizetype>(d);
    QTest::newRow("reference") << qsizetype{-1};
}

void TstParity::supportsAgreesWithRun()
{
    QFETCH(qsizetype, device);
    Device& target = device < 0 ? referenceDevice() : *m_devices[static_cast<std::size_t>(device)];
    for (const test::Case& what : m_cases) {
        const Status status = test::runOnce(target, what);
        if (target.supports(what.op, what.dtype, what.format)) {
            HALFTONE_VERIFY(Status(status).in(what.name()));
        } else {
            QVERIFY2(!status && status.error().code() == Errc::Unsupported, what.name().c_str());
        }
    }
}

void TstParity::otherDevices()
{
    for (const DeviceInfo& info : probeDevices())
        if (!info.whyUnusable.empty())
            QSKIP(qPrintable(QString::fromStdString(info.id + ": " + info.whyUnusable)));
}

int main(int argc, char** argv)
{
    const std::string_view mode = argc > 1 ? argv[1] : "test";
    if (mode == "perf") return test::printPerformance(argc > 2 ? argv[2] : "*");
    if (mode == "support") return test::printSupport();
    QCoreApplication app(argc, argv);
    TstParity parity;
    return QTest::qExec(&parity, argc, argv);
}

#include "tst_parity.moc"
