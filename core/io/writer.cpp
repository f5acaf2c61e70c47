// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/writer.h"

#include "core/base/checked.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/io/text_names.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>

namespace halftone {

namespace {

// A tensor on its way into the file.
struct Progress {
    std::uint64_t written = 0;
    std::unique_ptr<Hasher> hasher; ///< only while it is being written
    std::string hash;
};

class WriterImpl final : public CheckpointWriter {
public:
    WriterImpl(std::unique_ptr<OutputFile> file, FileLayout layout)
        : m_file(std::move(file)), m_layout(std::move(layout)), m_tensors(m_layout.tensors.size())
    {
    }
    const FileLayout& layout() const override { return m_layout; }

    Status begin() { return m_file->writeAt(0, m_layout.header); }

    Status write(std::size_t tensor, std::span<const std::byte> bytes) override
    {
        if (tensor >= m_tensors.size())
            return Error(Errc::InvalidArgument, fmt::format("there is no tensor {}", tensor));
        const auto& planned = m_layout.tensors[tensor];
        auto& p = m_tensors[tensor];
        if (bytes.size() > planned.bytes - p.written)
            return Error(Errc::InvalidArgument,
                         fmt::format("{} bytes given, {} planned", p.written + bytes.size(), planned.bytes))
                .in("tensor " + shownName(planned.name));
        HALFTONE_CHECK(m_file->writeAt(m_layout.offsets[tensor] + p.written, bytes));
        if (p.hasher == nullptr) p.hasher = std::make_unique<Hasher>();
        p.hasher->add(bytes);
        p.written += bytes.size();
        if (p.written == planned.bytes) {
            p.hash = p.hasher->hex();
            p.hasher.reset();
        }
        return Ok{};
    }

    Status finish(const Check& check) override
    {
        for (std::size_t i = 0; i < m_tensors.size(); ++i) {
            const auto& planned = m_layout.tensors[i];
            if (m_tensors[i].written != planned.bytes)
                return Error(Errc::InvalidArgument, fmt::format("only {} of {} bytes were written",
                                                                m_tensors[i].written, planned.bytes))
                    .in("tensor " + shownName(planned.name));
        }
        // The padding behind the last tensor counts as a part of the file.
        if (m_file->size() < m_layout.totalBytes) {
            const std::vector<std::byte> zeros(m_layout.totalBytes - m_file->size());
            HALFTONE_CHECK(m_file->writeAt(m_file->size(), zeros));
        }
        HALFTONE_CHECK(m_file->flush());
        // Only now is it known that what stands on the disk is what was meant.
        {
            auto written = Checkpoint::open(m_file->temporaryPath(), {.strict = true, .joinParts = false});
            if (!written)
                return Error(Errc::Io, "the file just written can't be read: " + written.error().line());
            HALFTONE_CHECK(compare(**written));
            if (check) HALFTONE_CHECK(check(**written));
        }
        return m_file->commit();
    }

private:
    Status compare(const Checkpoint& written) const
    {
        const auto differs = [&](std::string what) {
            return Error(Errc::Io,
                         fmt::format("what stands on the disk differs from what was written: {}; the "
                                     "disk or its driver is faulty",
                                     what))
                .in(m_file->finalPath().string());
        };
        if (written.container() != m_layout.container || written.fileBytes() != m_layout.totalBytes ||
            written.tensors().size() != m_layout.tensors.size())
            return differs("the header");
        for (std::size_t i = 0; i < m_layout.tensors.size(); ++i) {
            const auto& planned = m_layout.tensors[i];
            const auto* t = written.find(planned.name);
            const bool sameType =
                t != nullptr && (m_layout.container == Container::Gguf ? t->stored.ggufId == planned.ggufType
                                                                       : t->stored.plain == planned.dtype);
            if (!sameType || !(t->shape == planned.shape) || t->fileOffset != m_layout.offsets[i])
                return differs("tensor " + shownName(planned.name));
            // A type that only its source knows is sized by the gap, padding included.
            HALFTONE_TRY(bytes, written.raw(*t));
            if (bytes.size() < planned.bytes) return differs("tensor " + shownName(planned.name));
            Hasher hasher;
            hasher.add(bytes.first(planned.bytes));
            HALFTONE_CHECK(written.intact(*t));
            if (planned.bytes > 0 && hasher.hex() != m_tensors[i].hash)
                return differs("tensor " + shownName(planned.name));
            written.release(*t);
        }
        return Ok{};
    }

    std::unique_ptr<OutputFile> m_file;
    FileLayout m_layout;
    std::vector<Progress> m_tensors;
};

} // namespace

Result<std::unique_ptr<CheckpointWriter>> CheckpointWriter::create(const std::filesystem::path& path,
                                                                   FileLayout layout)
{
    if (layout.offsets.size() != layout.tensors.size())
        return Error(Errc::InvalidArgument, "the layout was not made by layoutFile");
    HALFTONE_TRY(file, OutputFile::create(path, layout.totalBytes));
    auto writer = std::make_unique<WriterImpl>(std::move(file), std::move(layout));
    HALFTONE_CHECK(writer->begin());
    return std::unique_ptr<CheckpointWriter>(std::move(writer));
}

} // namespace halftone
