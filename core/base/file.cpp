// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/file.h"

#include "core/base/checked.h"
#include "core/base/text.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace halftone {

namespace {

std::string errnoText(int error) { return std::strerror(error); } // NOLINT(concurrency-mt-unsafe)

class Descriptor {
public:
    explicit Descriptor(int fd) : m_fd(fd) {}
    ~Descriptor()
    {
        if (m_fd >= 0) ::close(m_fd);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return m_fd; }
    int release()
    {
        const int fd = m_fd;
        m_fd = -1;
        return fd;
    }

private:
    int m_fd;
};

// The mapped regions, in slots that a signal handler can read without a lock.
struct Region {
    std::atomic<const std::byte*> begin{nullptr};
    std::atomic<std::size_t> size{0};
    std::atomic<bool> damaged{false};
    std::atomic<bool> used{false};
};

constexpr std::size_t kMaxRegions = 4096;
std::array<Region, kMaxRegions>& regions()
{
    static std::array<Region, kMaxRegions> all;
    return all;
}

struct sigaction previousBusAction; // set once, before the handler can run

// A page of a mapping that lost its file is replaced by a page of zeros and the region is marked: the
// reader finishes its loop and then sees damaged(). mmap is a plain system call and safe here.
void onBusError(int number, siginfo_t* info, void* context)
{
    const auto* address = static_cast<const std::byte*>(info->si_addr);
    for (auto& r : regions()) {
        const std::byte* begin = r.begin.load(std::memory_order_acquire);
        if (begin == nullptr || address < begin || address >= begin + r.size.load(std::memory_order_relaxed))
            continue;
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        const auto start = reinterpret_cast<std::uintptr_t>(address) / page * page;
        void* want = reinterpret_cast<void*>(start);
        if (::mmap(want, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == want) {
            r.damaged.store(true, std::memory_order_release);
            return;
        }
    }
    if ((previousBusAction.sa_flags & SA_SIGINFO) != 0 && previousBusAction.sa_sigaction != nullptr) {
        previousBusAction.sa_sigaction(number, info, context);
        return;
    }
    ::signal(SIGBUS, SIG_DFL);
    ::raise(SIGBUS);
}

void installBusHandler()
{
    static std::once_flag once;
    std::call_once(once, [] {
        regions();
        struct sigaction action {};
        action.sa_sigaction = onBusError;
        action.sa_flags = SA_SIGINFO | SA_NODEFER;
        sigemptyset(&action.sa_mask);
        ::sigaction(SIGBUS, &action, &previousBusAction);
    });
}

class MappedFileImpl final : public MappedFile {
public:
    MappedFileImpl(std::filesystem::path path, const std::byte* data, std::size_t size, Region* region)
        : m_path(std::move(path)), m_data(data), m_size(size), m_region(region)
    {
    }
    MappedFileImpl(const MappedFileImpl&) = delete;
    MappedFileImpl& operator=(const MappedFileImpl&) = delete;
    ~MappedFileImpl() override
    {
        if (m_region != nullptr) {
            m_region->begin.store(nullptr, std::memory_order_release);
            m_region->used.store(false, std::memory_order_release);
        }
        if (m_data != nullptr) ::munmap(const_cast<std::byte*>(m_data), m_size);
    }
    const std::filesystem::path& path() const override { return m_path; }
    std::span<const std::byte> bytes() const override { return {m_data, m_size}; }
    bool damaged() const override
    {
        return m_region != nullptr && m_region->damaged.load(std::memory_order_acquire);
    }
    void release(std::span<const std::byte> part) const override
    {
        if (part.empty()) return;
        // Whole pages inside the part only: the neighbours may be in use.
        const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
        const auto first = ceilDiv(reinterpret_cast<std::uintptr_t>(part.data()), page) * page;
        const auto last = reinterpret_cast<std::uintptr_t>(part.data() + part.size()) / page * page;
        if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
    }

private:
    std::filesystem::path m_path;
    const std::byte* m_data;
    std::size_t m_size;
    Region* m_region;
};

std::filesystem::path folderOf(const std::filesystem::path& path)
{
    const auto parent = path.parent_path();
    return parent.empty() ? std::filesystem::path(".") : parent;
}

Error writeError(const std::filesystem::path& path, std::uint64_t need, int error)
{
    const auto folder = folderOf(path);
    if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
        const auto free = freeDiskBytes(path);
        return Error(Errc::CannotWrite,
                     fmt::format(
                         "output folder full: need {}, free {}; free some space or choose another folder",
                         humanBytes(need), free ? humanBytes(*free) : "unknown"))
            .in(folder.string());
    }
    return Error(Errc::CannotWrite, fmt::format("cannot write: {}", errnoText(error))).in(path.string());
}

class OutputFileImpl final : public OutputFile {
public:
    OutputFileImpl(std::filesystem::path temporary, std::filesystem::path final, int fd,
                   std::uint64_t expected)
        : m_temporary(std::move(temporary)), m_final(std::move(final)), m_fd(fd), m_expected(expected)
    {
    }
    ~OutputFileImpl() override
    {
        if (!m_committed) ::unlink(m_temporary.c_str());
    }
    const std::filesystem::path& temporaryPath() const override { return m_temporary; }
    const std::filesystem::path& finalPath() const override { return m_final; }
    Status write(std::span<const std::byte> bytes) override { return writeAt(m_size, bytes); }
    Status writeAt(std::uint64_t offset, std::span<const std::byte> bytes) override
    {
        while (!bytes.empty()) {
            const ssize_t n = ::pwrite(m_fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0)
                return writeError(m_final, std::max(m_expected, offset + bytes.size()),
                                  n == 0 ? ENOSPC : errno);
            bytes = bytes.subspan(static_cast<std::size_t>(n));
            offset += static_cast<std::uint64_t>(n);
            m_size = std::max(m_size, offset);
        }
        return Ok{};
    }
    std::uint64_t size() const override { return m_size; }
    Status flush() override
    {
        // What was reserved and not used would stand as zeros at the end.
        if (::ftruncate(m_fd.get(), static_cast<off_t>(m_size)) != 0 || ::fsync(m_fd.get()) != 0)
            return writeError(m_final, m_expected, errno);
        return Ok{};
    }
    Status commit() override
    {
        HALFTONE_CHECK(flush());
        if (::rename(m_temporary.c_str(), m_final.c_str()) != 0)
            return writeError(m_final, m_expected, errno);
        m_committed = true;
        const Descriptor folder(::open(folderOf(m_final).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        // Some file systems can't flush a folder; the rename itself has happened.
        if (folder.get() >= 0) (void)::fsync(folder.get());
        return Ok{};
    }

private:
    std::filesystem::path m_temporary, m_final;
    Descriptor m_fd;
    std::uint64_t m_expected;
    std::uint64_t m_size = 0;
    bool m_committed = false;
};

} // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path)
{
    const auto fail = [&](Errc code, std::string text) {
        return Error(code, std::move(text)).in(path.string());
    };
    const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd.get() < 0) {
        const int error = errno;
        if (error == ENOENT || error == ENOTDIR) return fail(Errc::NotFound, "no such file");
        return fail(Errc::Io, fmt::format("cannot open: {}", errnoText(error)));
    }
    struct stat info {};
    if (::fstat(fd.get(), &info) != 0)
        return fail(Errc::Io, fmt::format("cannot read: {}", errnoText(errno)));
    if (!S_ISREG(info.st_mode)) return fail(Errc::Io, "not a regular file");
    const auto size = static_cast<std::size_t>(info.st_size);
    if (size == 0)
        return std::shared_ptr<const MappedFile>(std::make_shared<MappedFileImpl>(path, nullptr, 0, nullptr));
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (data == MAP_FAILED)
        return fail(Errc::Io, fmt::format("cannot map {} bytes: {}", size, errnoText(errno)));
    installBusHandler();
    Region* region = nullptr;
    for (auto& r : regions()) {
        bool expected = false;
        if (!r.used.compare_exchange_strong(expected, true)) continue;
        r.damaged.store(false, std::memory_order_relaxed);
        r.size.store(size, std::memory_order_relaxed);
        r.begin.store(static_cast<const std::byte*>(data), std::memory_order_release);
        region = &r;
        break;
    }
    if (region == nullptr) {
        ::munmap(data, size);
        return fail(Errc::Io,
                    fmt::format("more than {} files open at once; close some checkpoints", kMaxRegions));
    }
    return std::shared_ptr<const MappedFile>(
        std::make_shared<MappedFileImpl>(path, static_cast<const std::byte*>(data), size, region));
}

Result<std::unique_ptr<OutputFile>> OutputFile::create(const std::filesystem::path& finalPath,
                                                       std::uint64_t expectedBytes)
{
    std::error_code ignored;
    if (std::filesystem::is_directory(finalPath, ignored))
        return Error(Errc::CannotWrite, "is a folder; name a file").in(finalPath.string());
    if (const auto free = freeDiskBytes(finalPath); free && *free < expectedBytes)
        return writeError(finalPath, expectedBytes, ENOSPC);
    // In the same folder, so that the rename is atomic; the process number keeps two runs apart.
    auto temporary = finalPath;
    temporary += fmt::format(".{}.part", ::getpid());
    const int fd = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return writeError(finalPath, expectedBytes, errno);
    auto file = std::make_unique<OutputFileImpl>(temporary, finalPath, fd, expectedBytes);
    if (expectedBytes > 0) {
        const int error = ::posix_fallocate(fd, 0, static_cast<off_t>(expectedBytes));
        // Not every file system can reserve; running out is then found while writing.
        if (error == ENOSPC || error == EDQUOT || error == EFBIG)
            return writeError(finalPath, expectedBytes, error);
    }
    return std::unique_ptr<OutputFile>(std::move(file));
}

Result<std::string> readTextFile(const std::filesystem::path& path, std::uint64_t limit)
{
    HALFTONE_TRY(file, MappedFile::open(path));
    const auto bytes = file->bytes();
    if (bytes.size() > limit)
        return Error(Errc::BadFormat,
                     fmt::format("{} bytes, more than the {} such a file may have", bytes.size(), limit))
            .in(path.string());
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (file->damaged())
        return Error(Errc::Io, "the file was cut while it was read; try again").in(path.string());
    return text;
}

Status writeTextFile(const std::filesystem::path& path, std::string_view text)
{
    HALFTONE_TRY(file, OutputFile::create(path, text.size()));
    HALFTONE_CHECK(file->write(std::as_bytes(std::span(text.data(), text.size()))));
    return file->commit();
}

Result<std::uint64_t> freeDiskBytes(const std::filesystem::path& path)
{
    struct statvfs info {};
    const auto folder = folderOf(path);
    if (::statvfs(folder.c_str(), &info) != 0) {
        const int error = errno;
        return Error(error == ENOENT ? Errc::CannotWrite : Errc::Io,
                     fmt::format("cannot look at the folder: {}", errnoText(error)))
            .in(folder.string());
    }
    return static_cast<std::uint64_t>(info.f_bavail) * static_cast<std::uint64_t>(info.f_frsize);
}

} // namespace halftone
