// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/param/schema.h"

#include <QString>
#include <QWidget>

#include <functional>
#include <optional>
#include <vector>

class QFormLayout;
class QLabel;
class QToolButton;
class QVBoxLayout;

namespace halftone {

/// A form made from a ParamSchema: one field a spec, with label, unit, tool tip and its own line for
/// what is wrong. Checks with the schema's own validator, so that form, flags and job files agree.
class SchemaForm : public QWidget {
    Q_OBJECT
public:
    explicit SchemaForm(QWidget* parent = nullptr);
    /// Builds the fields anew, at their defaults.
    void setSchema(const ParamSchema& schema);
    const ParamSchema& schema() const { return m_schema; }
    /// What stands in the fields, one entry a spec.
    ParamTexts texts() const;
    /// Fills the named fields; a text that a field can't hold is shown as wrong. Unknown keys are left out.
    void setTexts(const ParamTexts& texts);
    /// All values, or every problem in one error; the fields show theirs.
    Result<ParamList> values() const { return m_schema.complete(texts()); }
    /// The editing widget of a parameter, null when there is none of this key.
    QWidget* field(const QString& key) const;
    /// The line under a field, empty when nothing is wrong.
    QString problem(const QString& key) const;
    void showAdvanced(bool shown);

Q_SIGNALS:
    void edited();

private:
    struct Field {
        std::string key;
        QWidget* editor = nullptr; ///< the focusable widget
        QWidget* line = nullptr;   ///< the whole row
        QLabel* label = nullptr;
        QLabel* problem = nullptr;
        std::function<QString()> text;
        std::function<void(const QString&)> setText;
        std::optional<QString> override; ///< a text that the editor can't show, until it is edited
    };
    Field makeField(const ParamSpec& spec);
    void makeEditor(const ParamSpec& spec, Field& field, QWidget* parent);
    void place(Field& field, const ParamSpec& spec, QFormLayout* layout);
    void touched(const std::string& key);
    void check();
    const Field* find(const QString& key) const;

    ParamSchema m_schema;
    std::vector<Field> m_fields;
    QVBoxLayout* m_layout;
    QWidget* m_body = nullptr;
    QToolButton* m_advancedButton = nullptr;
    QWidget* m_advanced = nullptr;
    bool m_filling = false;
};

} // namespace halftone
