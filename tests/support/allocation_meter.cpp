// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/allocation_meter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> given{0};

} // namespace

void* operator new(std::size_t size)
{
    given.fetch_add(size, std::memory_order_relaxed);
    if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
    throw std::bad_alloc();
}
// Sanitizers bring one of their own, which would not fit the delete below.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept
{
    given.fetch_add(size, std::memory_order_relaxed);
    return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace halftone::test {

std::uint64_t allocatedBytes() { return given.load(std::memory_order_relaxed); }

} // namespace halftone::test
