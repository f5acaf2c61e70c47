// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// Marks what libhalftone-core offers to programs, plugins and tests; all else is hidden.
#define HALFTONE_API __attribute__((visibility("default")))
