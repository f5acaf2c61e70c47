// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/result.h"

#include <QTest>

// Reads better than QVERIFY2 for a Result or Status: a failure shows the error's own line.
#define HALFTONE_VERIFY(result)                                                                              \
    do {                                                                                                     \
        const auto& verified_ = (result);                                                                    \
        QVERIFY2(static_cast<bool>(verified_), verified_ ? "" : verified_.error().line().c_str());           \
    } while (false)
