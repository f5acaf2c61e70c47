// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/temp_dir.h"

#include <cstdlib>
#include <string>

namespace halftone::test {

TempDir::TempDir()
{
    std::string name = (std::filesystem::temp_directory_path() / "halftone-test-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) m_path = name;
}

TempDir::~TempDir()
{
    std::error_code ignored;
    if (!m_path.empty()) std::filesystem::remove_all(m_path, ignored);
}

} // namespace halftone::test
