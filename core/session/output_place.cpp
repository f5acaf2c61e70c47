// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/output_place.h"

#include "core/base/file.h"
#include "core/base/text.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <string>
#include <system_error>

namespace halftone {

namespace fs = std::filesystem;

namespace {

Error cannotWrite(const fs::path& path, const std::string& why)
{
    return {Errc::CannotWrite, fmt::format("{}: {}", path.string(), why)};
}

bool isInput(const fs::path& output, const Checkpoint& source)
{
    std::error_code ignored;
    for (const auto& file : source.files())
        if (fs::equivalent(output, file, ignored)) return true;
    return fs::equivalent(output, source.path(), ignored);
}

fs::path parentOf(const fs::path& path)
{
    const fs::path parent = path.parent_path();
    return parent.empty() ? fs::path(".") : parent;
}

Status checkFolderName(const fs::path& folder, const fs::path& weights, bool overwrite)
{
    std::error_code failed;
    if (!fs::exists(folder, failed)) return Ok{};
    if (!fs::is_directory(folder, failed)) return cannotWrite(folder, "exists and is not a folder");
    if (fs::is_empty(folder, failed)) return Ok{};
    if (!overwrite)
        return cannotWrite(folder, "exists and is not empty: choose another name, or allow overwriting");
    // Weights of another model beside ours would make the folder two models at once.
    for (const auto& entry : fs::directory_iterator(folder, failed)) {
        const auto name = entry.path().filename();
        const bool other = name.extension() == ".safetensors" || name.extension() == ".gguf" ||
                           name.string().ends_with(".index.json");
        if (other && name != weights.filename())
            return cannotWrite(
                folder, fmt::format("holds other weights ({}): choose an empty folder", name.string()));
    }
    if (failed) return cannotWrite(folder, failed.message());
    return Ok{};
}

} // namespace

Result<std::unique_ptr<OutputPlace>> OutputPlace::prepare(const QuantizeRequest& request,
                                                          const OutputPlan& plan)
{
    if (request.output.empty())
        return Error(Errc::InvalidArgument, "no output: name a .gguf or .safetensors file, or a folder");
    const Checkpoint& source = *request.model->weights()->checkpoint();
    fs::path output = request.output;
    if (!output.has_filename()) output = parentOf(output); // "folder/"
    std::error_code failed;
    if (isInput(output, source) || isInput(plan.weightsFile, source))
        return cannotWrite(output, "is the input: choose another name");
    const fs::path parent = parentOf(output);
    if (!fs::is_directory(parent, failed)) return cannotWrite(parent, "no such folder: make it first");
    if (plan.plan.folder) {
        HALFTONE_CHECK(checkFolderName(output, plan.weightsFile, request.overwrite));
    } else if (fs::exists(output, failed)) {
        if (fs::is_directory(output, failed)) return cannotWrite(output, "is a folder");
        if (!request.overwrite)
            return cannotWrite(output, "exists: choose another name, or allow overwriting");
    }
    HALFTONE_TRY(free, freeDiskBytes(output));
    if (free < plan.plan.diskBytes)
        return cannotWrite(parent, fmt::format("output folder full: need {}, free {}",
                                               humanBytes(plan.plan.diskBytes), humanBytes(free)));
    std::unique_ptr<OutputPlace> place(new OutputPlace);
    place->m_weights = plan.weightsFile;
    if (!plan.plan.folder) return place;
    std::string pattern = (parent / ("." + output.filename().string() + ".part-XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr) return cannotWrite(parent, std::strerror(errno));
    fs::permissions(pattern,
                    fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                        fs::perms::others_read | fs::perms::others_exec,
                    failed);
    place->m_temporary = pattern;
    place->m_final = output;
    place->m_weights = place->m_temporary / plan.weightsFile.filename();
    return place;
}

OutputPlace::~OutputPlace()
{
    std::error_code ignored;
    if (!m_temporary.empty()) fs::remove_all(m_temporary, ignored);
}

Status OutputPlace::writeOthers(const QuantizePlan& plan)
{
    for (const auto& [name, text] : plan.textFiles)
        HALFTONE_CHECK(writeTextFile(m_temporary / name, text));
    for (const auto& file : plan.copiedFiles) {
        std::error_code failed;
        fs::copy_file(file, m_temporary / file.filename(), failed);
        if (failed) return cannotWrite(m_temporary / file.filename(), failed.message());
    }
    return Ok{};
}

Status OutputPlace::commit()
{
    if (m_temporary.empty()) return Ok{};
    std::error_code failed;
    // An empty or absent folder is replaced in one step; into one with files, file by file.
    fs::rename(m_temporary, m_final, failed);
    if (!failed) {
        m_temporary.clear();
        return Ok{};
    }
    for (const auto& entry : fs::directory_iterator(m_temporary, failed)) {
        fs::rename(entry.path(), m_final / entry.path().filename(), failed);
        if (failed) return cannotWrite(m_final / entry.path().filename(), failed.message());
    }
    return Ok{};
}

} // namespace halftone
