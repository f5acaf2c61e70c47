// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/device.h"

namespace {

using namespace halftone;

/// Two devices, of which the second can't be used; the first is the CPU under another name.
class FakeBackend final : public Backend {
public:
    std::string_view name() const override { return "cuda"; }
    std::vector<DeviceInfo> probe() const noexcept override
    {
        return {{"cuda:0", "a fake", 1000, ""}, {"cuda:1", "another fake", 1000, "it is too old"}};
    }
    Result<std::shared_ptr<Device>> open(std::string_view) override
    {
        return std::shared_ptr<Device>(std::shared_ptr<void>(), &referenceDevice());
    }
};

} // namespace

extern "C" HALFTONE_API Backend* halftone_backend_v1()
{
    static FakeBackend backend;
    return &backend;
}
