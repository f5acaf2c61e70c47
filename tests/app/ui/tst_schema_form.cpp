// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ui/data_table.h"
#include "app/ui/schema_form.h"
#include "app/ui/theme.h"
#include "tests/app/qt_main.h"

#include <QAccessible>
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QLineEdit>
#include <QSignalSpy>
#include <QSpinBox>

using namespace halftone;
using namespace Qt::Literals::StringLiterals;

namespace {

ParamSchema sample()
{
    ParamSchema schema;
    schema.add({.key = "bits",
                .label = "Bits",
                .help = "Bits of one code.",
                .unit = "bit",
                .kind = ParamSpec::Kind::Int,
                .fallback = std::int64_t{4},
                .min = 2,
                .max = 8});
    schema.add({.key = "granularity",
                .label = "One scale for each",
                .help = "What shares a scale.",
                .kind = ParamSpec::Kind::Choice,
                .fallback = std::string("group"),
                .choices = {"tensor", "group"}});
    schema.add({.key = "group-size",
                .label = "Group size",
                .help = "Columns under one scale.",
                .unit = "columns",
                .kind = ParamSpec::Kind::Int,
                .fallback = std::int64_t{128},
                .min = 1,
                .max = 65536,
                .logScale = true,
                .enabledBy = "granularity=group"});
    schema.add({.key = "damping",
                .label = "Damping",
                .help = "Added to the diagonal.",
                .kind = ParamSpec::Kind::Real,
                .fallback = 0.01,
                .min = 0,
                .max = 1,
                .level = ParamSpec::Level::Advanced});
    schema.add({.key = "keep",
                .label = "Keep",
                .help = "Keeps it.",
                .kind = ParamSpec::Kind::Bool,
                .fallback = true,
                .level = ParamSpec::Level::Advanced});
    schema.add({.key = "skip",
                .label = "Leave out",
                .help = "Patterns.",
                .kind = ParamSpec::Kind::Text,
                .fallback = std::string()});
    return schema;
}

} // namespace

class TestSchemaForm : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { Theme::apply(*qApp, ThemeMode::Light); }
    void init() { test::failOnQtWarnings(); }
    void oneFieldASpec();
    void defaultsComeBack();
    void refusesBadValues();
    void greysWhatDoesNotMatter();
    void editsAreTold();
    void foldsAdvanced();
    void fieldsHaveNames();
    void copiesTables();
};

void TestSchemaForm::oneFieldASpec()
{
    SchemaForm form;
    form.setSchema(sample());
    for (const ParamSpec& spec : form.schema().specs())
        QVERIFY2(form.field(QString::fromStdString(spec.key)) != nullptr, spec.key.c_str());
    QVERIFY(qobject_cast<QSpinBox*>(form.field(u"bits"_s)) != nullptr);
    QVERIFY(qobject_cast<QComboBox*>(form.field(u"granularity"_s)) != nullptr);
    QVERIFY(qobject_cast<QDoubleSpinBox*>(form.field(u"damping"_s)) != nullptr);
    QVERIFY(qobject_cast<QCheckBox*>(form.field(u"keep"_s)) != nullptr);
    QVERIFY(qobject_cast<QLineEdit*>(form.field(u"skip"_s)) != nullptr);
    QCOMPARE(form.field(u"bits"_s)->toolTip(), u"Bits of one code."_s);
    QCOMPARE(qobject_cast<QSpinBox*>(form.field(u"bits"_s))->suffix(), u" bit"_s);
}

void TestSchemaForm::defaultsComeBack()
{
    SchemaForm form;
    form.setSchema(sample());
    const auto values = form.values();
    HALFTONE_VERIFY(values);
    for (const ParamSpec& spec : form.schema().specs()) {
        const ParamValue* value = findParam(*values, spec.key);
        QVERIFY2(value != nullptr && *value == spec.fallback, spec.key.c_str());
    }
    // What texts() gives, setTexts() takes.
    form.setTexts({{"bits", "3"}, {"damping", "0.0625"}, {"keep", "false"}, {"skip", "a*"}});
    const ParamTexts texts = form.texts();
    SchemaForm other;
    other.setSchema(sample());
    other.setTexts(texts);
    QCOMPARE(other.texts(), texts);
    QCOMPARE(std::get<double>(*findParam(*other.values(), "damping")), 0.0625);
}

void TestSchemaForm::refusesBadValues()
{
    SchemaForm form;
    form.setSchema(sample());
    form.show();
    QVERIFY(QTest::qWaitForWindowExposed(&form));
    form.setTexts({{"bits", "9"}});
    const auto values = form.values();
    QVERIFY(!values);
    QCOMPARE(values.error().code(), Errc::InvalidArgument);
    QVERIFY2(form.problem(u"bits"_s).contains(u"2..8"_s), qPrintable(form.problem(u"bits"_s)));
    QVERIFY(form.problem(u"group-size"_s).isEmpty());
    // Typing a good value takes the complaint away.
    qobject_cast<QSpinBox*>(form.field(u"bits"_s))->setValue(5);
    QVERIFY(form.problem(u"bits"_s).isEmpty());
    HALFTONE_VERIFY(form.values());
    // A choice that is not there, and an unknown key, which no field has.
    form.setTexts({{"granularity", "moon"}, {"colour", "red"}});
    QVERIFY(!form.values());
    QVERIFY(!form.problem(u"granularity"_s).isEmpty());
    // The spin box itself stops at its limits.
    auto* bits = qobject_cast<QSpinBox*>(form.field(u"bits"_s));
    bits->setValue(99);
    QCOMPARE(bits->value(), 8);
}

void TestSchemaForm::greysWhatDoesNotMatter()
{
    SchemaForm form;
    form.setSchema(sample());
    QVERIFY(form.field(u"group-size"_s)->isEnabled());
    form.setTexts({{"granularity", "tensor"}});
    QVERIFY(!form.field(u"group-size"_s)->isEnabled());
    form.setTexts({{"granularity", "group"}});
    QVERIFY(form.field(u"group-size"_s)->isEnabled());
}

void TestSchemaForm::editsAreTold()
{
    SchemaForm form;
    form.setSchema(sample());
    QSignalSpy edited(&form, &SchemaForm::edited);
    qobject_cast<QSpinBox*>(form.field(u"bits"_s))->stepUp();
    QCOMPARE(edited.count(), 1);
    form.setTexts({{"bits", "2"}, {"skip", "x"}});
    QCOMPARE(edited.count(), 2); // once for all fields
}

void TestSchemaForm::foldsAdvanced()
{
    SchemaForm form;
    form.setSchema(sample());
    form.show();
    QVERIFY(QTest::qWaitForWindowExposed(&form));
    QVERIFY(form.field(u"bits"_s)->isVisible());
    QVERIFY(!form.field(u"damping"_s)->isVisible());
    form.showAdvanced(true);
    QVERIFY(form.field(u"damping"_s)->isVisible());
}

void TestSchemaForm::fieldsHaveNames()
{
    SchemaForm form;
    form.setSchema(sample());
    for (const ParamSpec& spec : form.schema().specs()) {
        QAccessibleInterface* face =
            QAccessible::queryAccessibleInterface(form.field(QString::fromStdString(spec.key)));
        QVERIFY(face != nullptr);
        QVERIFY2(!face->text(QAccessible::Name).isEmpty(), spec.key.c_str());
        // A combo box says its value there on Unix, and its name by the label that is its buddy.
        QVERIFY2(form.field(QString::fromStdString(spec.key))
                     ->accessibleName()
                     .startsWith(QString::fromStdString(spec.label)),
                 spec.key.c_str());
    }
}

void TestSchemaForm::copiesTables()
{
    auto data = std::make_shared<TableData>();
    data->columns = {{"name", "", "", {0, 1}, {"a", "b"}}, {"value", "", "", {1.5, 0.1}, {}}};
    DataTable table;
    table.setTable(data);
    QCOMPARE(table.text(','), u"name,value\na,1.5\nb,0.1\n"_s);
    table.sortByColumn(1, Qt::AscendingOrder);
    QCOMPARE(table.text('\t'), u"name\tvalue\nb\t0.1\na\t1.5\n"_s);
    table.selectRow(0);
    QTest::keyClick(&table, Qt::Key_C, Qt::ControlModifier);
    QCOMPARE(QGuiApplication::clipboard()->text(), u"name\tvalue\nb\t0.1\n"_s);
}

QTEST_MAIN(TestSchemaForm)
#include "tst_schema_form.moc"
