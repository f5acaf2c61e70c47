// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "app/batch/program.h"
#include "core/session/quantize.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace halftone::batch {

/// The flags that plan and quantize share.
struct MethodOptions {
    std::string file, method, output;
    std::vector<std::string> settings;
    bool noFallback = false, strict = false, overwrite = false;
};

inline void addMethodFlags(CLI::App& cmd, MethodOptions& options)
{
    cmd.add_option("FILE", options.file, "A .safetensors or .gguf file, an index, or a model folder")
        ->required();
    cmd.add_option("--method", options.method, "Id of a method, see halftone-batch methods")->required();
    cmd.add_option("--set", options.settings,
                   "A parameter as key=value; repeat it for more, see halftone-batch methods ID")
        ->allow_extra_args(false);
    cmd.add_flag("--no-fallback", options.noFallback,
                 "A weight that can't take the format is an error, not a substitution");
    cmd.add_flag("--strict", options.strict, "Refuse files with holes or trailing bytes");
}

/// The complete parameters, --no-fallback applied. InvalidArgument when a --set contradicts it.
inline Result<ParamList> paramsOf(const MethodOptions& options, const ParamSchema& schema)
{
    HALFTONE_TRY(texts, splitSettings(options.settings));
    if (options.noFallback && schema.find("fallback") != nullptr) texts.emplace_back("fallback", "error");
    return schema.complete(texts);
}

} // namespace halftone::batch
