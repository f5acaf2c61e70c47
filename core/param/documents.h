// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/export.h"
#include "core/param/schema.h"

#include <string>

namespace halftone {

/// JSON Schema (draft 2020-12) of one object with these parameters as members, as JSON text.
HALFTONE_API std::string paramJsonSchema(const ParamSchema& schema);
/// A Markdown table: key, type and range, default, unit, help.
HALFTONE_API std::string paramHelpTable(const ParamSchema& schema);
/// "INT in 2..8", "one of: tensor, channel, group": the type and range in words.
HALFTONE_API std::string paramTypeText(const ParamSpec& spec);

} // namespace halftone
