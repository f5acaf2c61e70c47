// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/checkpoint_impl.h"

#include "core/base/checked.h"
#include "core/base/hash.h"
#include "core/io/decode.h"
#include "core/io/mapped_storage.h"
#include "core/io/text_names.h"

#include <algorithm>
#include <cstring>
#include <fmt/core.h>
#include <limits>
#include <numeric>
#include <sys/stat.h>

namespace halftone {

namespace {

class CheckpointImpl final : public Checkpoint {
public:
    CheckpointImpl(CheckpointData data, std::vector<std::uint32_t> byName)
        : m(std::move(data)), m_byName(std::move(byName))
    {
        for (const auto& f : m.files) {
            m_paths.push_back(f.mapped->path());
            m_fileBytes += f.mapped->bytes().size();
        }
    }

    const std::filesystem::path& path() const override { return m.path; }
    std::span<const std::filesystem::path> files() const override { return m_paths; }
    Container container() const override { return m.container; }
    std::uint64_t fileBytes() const override { return m_fileBytes; }
    std::span<const TensorInfo> tensors() const override { return m.tensors; }

    const TensorInfo* find(std::string_view name) const override
    {
        const auto at =
            std::lower_bound(m_byName.begin(), m_byName.end(), name,
                             [&](std::uint32_t i, std::string_view n) { return m.tensors[i].name < n; });
        return at != m_byName.end() && m.tensors[*at].name == name ? &m.tensors[*at] : nullptr;
    }

    std::span<const MetaEntry> metadata() const override { return m.metadata; }
    const MetaEntry* meta(std::string_view key) const override
    {
        const auto at = std::find_if(m.metadata.begin(), m.metadata.end(),
                                     [&](const MetaEntry& e) { return e.key == key; });
        return at == m.metadata.end() ? nullptr : &*at;
    }
    std::span<const CheckpointIssue> issues() const override { return m.issues; }
    const std::string& configJson() const override { return m.configJson; }
    const std::string& quantizeConfigJson() const override { return m.quantizeConfigJson; }
    std::span<const std::filesystem::path> sidecars() const override { return m.sidecars; }

    const std::string& contentHash() const override
    {
        // Not at open: it reads pages of the weights.
        std::call_once(m_hashOnce, [this] { m_hash = hashContent(); });
        return m_hash;
    }

    Result<std::span<const std::byte>> raw(const TensorInfo& info) const override
    {
        if (info.file >= m.files.size())
            return Error(Errc::InvalidArgument, "is no tensor of this checkpoint").in(shownName(info.name));
        const auto bytes = m.files[info.file].mapped->bytes();
        if (!fits(info.fileOffset, info.bytes, bytes.size()))
            return Error(Errc::BadFormat,
                         fmt::format("needs bytes {} to {}, but the file has only {}; get the file again",
                                     info.fileOffset, info.fileOffset + info.bytes, bytes.size()))
                .in("tensor " + shownName(info.name))
                .in(m_paths[info.file].string());
        return bytes.subspan(info.fileOffset, info.bytes);
    }

    Status intact(const TensorInfo& info) const override
    {
        if (info.file >= m.files.size()) return Ok{};
        const auto& file = m.files[info.file];
        // A cut inside the last page gives zeros without a fault, so the size is looked at too. Another
        // file under the same name is no harm: the mapping keeps the old one.
        struct stat now {};
        const bool resized = ::stat(m_paths[info.file].c_str(), &now) == 0 && now.st_dev == file.device &&
                             now.st_ino == file.inode &&
                             static_cast<std::uint64_t>(now.st_size) < file.mapped->bytes().size();
        if (!resized && !file.mapped->damaged()) return Ok{};
        return Error(Errc::Io, fmt::format("the file was cut while it was open (it had {} bytes); restore it "
                                           "and open it again",
                                           file.mapped->bytes().size()))
            .in("tensor " + shownName(info.name))
            .in(m_paths[info.file].string());
    }

    void release(const TensorInfo& info) const override
    {
        if (const auto bytes = raw(info)) m.files[info.file].mapped->release(*bytes);
    }

    Result<Tensor> mapped(const TensorInfo& info) const override
    {
        if (!info.stored.plain)
            return Error(Errc::Unsupported,
                         fmt::format("is stored as {}, not as plain numbers", info.stored.name))
                .in("tensor " + shownName(info.name));
        HALFTONE_TRY(bytes, raw(info));
        return Tensor(std::make_shared<MappedStorage>(m.files[info.file].mapped, bytes), *info.stored.plain,
                      info.shape);
    }

    Result<Tensor> loadRows(const TensorInfo& info, std::int64_t begin, std::int64_t end, DType want,
                            Device& device, std::stop_token stop) const override
    {
        auto rows = decode(info, {begin, end, want}, device, std::move(stop));
        if (!rows && rows.error().code() == Errc::Cancelled) return rows;
        // Cut while it was read: that is the reason, whatever the decoder made of the lost pages.
        HALFTONE_CHECK(intact(info));
        return std::move(rows).in("tensor " + shownName(info.name));
    }

private:
    Result<Tensor> decode(const TensorInfo& info, const RowRange& range, Device& device,
                          std::stop_token stop) const
    {
        if (!info.stored.decodable()) return Error(Errc::Unsupported, info.stored.whyOpaque);
        if (info.stored.plain) {
            HALFTONE_TRY(tensor, mapped(info));
            return decodePlainRows(tensor, range, device, std::move(stop));
        }
        HALFTONE_TRY(bytes, raw(info));
        HALFTONE_TRY(layout, info.stored.blocks->layout(info.shape.rows(), info.shape.cols()));
        if (layout.codeBytes != bytes.size())
            return Error(Errc::Internal,
                         fmt::format("has {} bytes, {} expected", bytes.size(), layout.codeBytes));
        PackedTensor packed;
        packed.format = info.stored.blocks;
        packed.logical = {layout.rows, layout.cols};
        packed.codes = mappedPlane(m.files[info.file].mapped, bytes, layout.rows);
        return decodePackedRows(packed, range, device, std::move(stop));
    }

    std::string hashContent() const
    {
        constexpr std::size_t kSamples = 1024, kPage = 4096;
        Hasher hasher;
        for (const auto& f : m.files) {
            hasher.add(fmt::format("{};", f.mapped->bytes().size()));
            hasher.add(
                f.mapped->bytes().first(std::min<std::size_t>(f.headerBytes, f.mapped->bytes().size())));
        }
        // Evenly spread over the file, the same ones on every machine.
        const std::size_t count = m.tensors.size(), samples = std::min(count, kSamples);
        for (std::size_t i = 0; i < samples; ++i) {
            const auto bytes = raw(m.tensors[i * count / samples]);
            if (!bytes) continue;
            hasher.add(bytes->first(std::min(kPage, bytes->size())));
            hasher.add(bytes->last(std::min(kPage, bytes->size())));
        }
        return hasher.hex();
    }

    CheckpointData m;
    std::vector<std::uint32_t> m_byName;
    std::vector<std::filesystem::path> m_paths;
    std::uint64_t m_fileBytes = 0;
    mutable std::once_flag m_hashOnce;
    mutable std::string m_hash;
};

} // namespace

Result<CheckpointFile> mapCheckpointFile(const std::filesystem::path& path)
{
    HALFTONE_TRY(mapped, MappedFile::open(path));
    CheckpointFile file;
    file.mapped = std::move(mapped);
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0) {
        file.device = info.st_dev;
        file.inode = info.st_ino;
    }
    return file;
}

Result<std::shared_ptr<const Checkpoint>> makeCheckpoint(CheckpointData data)
{
    std::vector<std::uint32_t> byName(data.tensors.size());
    std::iota(byName.begin(), byName.end(), 0u);
    const auto name = [&](std::uint32_t i) -> const std::string& { return data.tensors[i].name; };
    std::ranges::sort(byName, [&](auto a, auto b) { return name(a) < name(b); });
    const auto twice = std::ranges::adjacent_find(byName, [&](auto a, auto b) { return name(a) == name(b); });
    if (twice != byName.end())
        return Error(Errc::BadFormat, fmt::format("tensor {} stands twice in the header; the file is damaged",
                                                  shownName(name(*twice))))
            .in(data.path.string());
    return std::shared_ptr<const Checkpoint>(
        std::make_shared<CheckpointImpl>(std::move(data), std::move(byName)));
}

Result<TilingReport> checkTiling(std::span<const TensorInfo> tensors, std::uint64_t areaBytes,
                                 std::uint64_t alignment)
{
    constexpr auto kMaxEnd = std::uint64_t(std::numeric_limits<std::int64_t>::max());
    TilingReport report;
    const TensorInfo* before = nullptr;
    std::uint64_t expected = 0;
    for (const auto& t : tensors) {
        // Half the range of 64 bits, so that the start of the data area can be added to it.
        const auto end = checkedAdd(t.fileOffset, t.bytes);
        if (!end || *end > kMaxEnd)
            return Error(Errc::BadFormat, fmt::format("offset {} and size {} are out of range; the file is "
                                                      "damaged",
                                                      t.fileOffset, t.bytes))
                .in("tensor " + shownName(t.name));
        if (t.fileOffset < report.end)
            return Error(Errc::BadFormat,
                         fmt::format("starts at byte {} inside tensor {}, which ends at {}; the file is "
                                     "damaged or forged",
                                     t.fileOffset, shownName(before->name), report.end))
                .in("tensor " + shownName(t.name));
        if (t.fileOffset > expected)
            report.problems.push_back(fmt::format("{} unused bytes in front of tensor {}",
                                                  t.fileOffset - expected, shownName(t.name)));
        if (*end > areaBytes) report.cut.push_back(t.name);
        if (t.bytes > 0 || before == nullptr) before = &t;
        report.end = std::max(report.end, *end);
        expected = checkedRoundUp(report.end, alignment).value_or(report.end);
    }
    if (areaBytes > expected)
        report.problems.push_back(
            fmt::format("{} unused bytes behind the last tensor", areaBytes - expected));
    return report;
}

} // namespace halftone
