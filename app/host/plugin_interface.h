// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/method/method.h"

#include <QtPlugin>

// The IID carries the interface's version: a plugin of another one is refused before its code runs.
#define HALFTONE_METHODS_IID "org.halftone.MethodProvider/1"
Q_DECLARE_INTERFACE(halftone::MethodProvider, HALFTONE_METHODS_IID)
