// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/fuzz/fuzz_checkpoint.h"

#include "core/io/checkpoint.h"
#include "core/io/imatrix.h"
#include "core/io/weights.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace halftone::test {

namespace {

constexpr std::int64_t kMaxCols = 1 << 16; // a claim of more is not worth the time to decode

// A file without a name in any folder.
class MemoryFile {
public:
    explicit MemoryFile(std::span<const std::byte> bytes) : m_fd(::memfd_create("fuzz", MFD_CLOEXEC))
    {
        while (!bytes.empty()) {
            const ssize_t n = ::write(m_fd, bytes.data(), bytes.size());
            if (n <= 0) return;
            bytes = bytes.subspan(static_cast<std::size_t>(n));
        }
    }
    ~MemoryFile() { ::close(m_fd); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    std::string path() const { return "/proc/self/fd/" + std::to_string(m_fd); }

private:
    int m_fd;
};

void readMetadata(const Checkpoint& c)
{
    for (const auto& e : c.metadata()) {
        (void)metaText(e);
        (void)metaString(e);
        (void)metaInt(e);
        (void)metaReal(e);
        (void)metaBool(e);
        (void)metaStrings(e);
    }
}

void readTensors(const Checkpoint& c)
{
    for (const auto& t : c.tensors()) {
        unsigned sum = 0;
        if (const auto raw = c.raw(t))
            for (const auto b : *raw)
                sum += static_cast<unsigned>(b);
        (void)c.intact(t);
        if (t.shape.cols() <= kMaxCols)
            (void)c.loadRows(t, 0, std::min<std::int64_t>(2, t.shape.rows()), DType::F32, cpuDevice(), {});
        (void)c.find(t.name);
        if (sum == 1) c.release(t);
    }
}

void readWeights(const std::shared_ptr<const Checkpoint>& c)
{
    const auto set = WeightSet::of(c);
    if (!set) return;
    for (const auto& w : (*set)->all()) {
        if (w.shape.cols() > kMaxCols || w.shape.rows() > kMaxCols) continue;
        const auto rows = w.shape.rows();
        (void)(*set)->loadRows(w, rows / 2, std::min(rows, rows / 2 + 2), DType::BF16, cpuDevice(), {});
        (void)(*set)->packed(w);
    }
}

bool exercise(std::span<const std::byte> bytes)
{
    const MemoryFile file(bytes);
    const auto opened = Checkpoint::open(file.path());
    if (!opened) {
        (void)opened.error().line();
        return false;
    }
    readMetadata(**opened);
    readTensors(**opened);
    readWeights(*opened);
    (void)(*opened)->contentHash();
    return true;
}

} // namespace

bool fuzzSafetensors(std::span<const std::byte> bytes) { return exercise(bytes); }

bool fuzzGguf(std::span<const std::byte> bytes)
{
    constexpr std::string_view kMagic = "GGUF";
    const auto magic = std::as_bytes(std::span(kMagic.data(), kMagic.size()));
    std::vector<std::byte> file(magic.begin(), magic.end());
    file.insert(file.end(), bytes.begin(), bytes.end());
    return exercise(file);
}

bool fuzzImatrix(std::span<const std::byte> bytes)
{
    const MemoryFile file(bytes);
    const auto opened = Imatrix::open(file.path());
    if (!opened) {
        (void)opened.error().line();
        return false;
    }
    for (const auto& entry : (*opened)->entries()) {
        (void)(*opened)->values(entry);
        (void)(*opened)->find(entry.name);
    }
    return true;
}

} // namespace halftone::test
