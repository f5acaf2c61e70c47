// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace halftone {

/// The section of the handbook's page of panels that has this heading, as markdown; words that say so when
/// there is none.
QString helpPage(const QString& topic);

} // namespace halftone
