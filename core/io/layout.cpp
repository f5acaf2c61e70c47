// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/writer.h"

#include "core/base/checked.h"
#include "core/base/text.h"
#include "core/io/gguf_header.h"
#include "core/io/le_bytes.h"
#include "core/io/safetensors_header.h"
#include "core/io/text_names.h"

#include <algorithm>
#include <fmt/core.h>
#include <new>

namespace halftone {

namespace {

Error refuse(std::string text) { return Error(Errc::InvalidArgument, std::move(text)); }

Status checkNames(std::span<const OutputTensor> tensors, std::span<const OutputMeta> metadata)
{
    std::vector<std::string_view> names, keys;
    for (const auto& t : tensors)
        names.push_back(t.name);
    for (const auto& m : metadata)
        keys.push_back(m.key);
    for (auto* list : {&names, &keys}) {
        const char* what = list == &names ? "tensor" : "metadata entry";
        std::ranges::sort(*list);
        const auto twice = std::ranges::adjacent_find(*list);
        if (twice != list->end()) return refuse(fmt::format("{} {} is given twice", what, shownName(*twice)));
        for (const auto name : *list)
            if (!isUtf8(name))
                return refuse(fmt::format("the name of {} {} is no UTF-8", what, shownName(name)));
    }
    return Ok{};
}

void appendJsonString(std::string& out, std::string_view text)
{
    out += '"';
    for (const char c : text) {
        const auto u = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\')
            (out += '\\') += c;
        else if (u < 0x20)
            out += fmt::format("\\u{:04x}", u);
        else
            out += c;
    }
    out += '"';
}

// Places each tensor at the next multiple of `alignment` behind `start`.
Status placeTensors(FileLayout& layout, std::uint64_t start, std::uint64_t alignment)
{
    std::uint64_t at = start;
    for (const auto& t : layout.tensors) {
        const auto end = checkedAdd(at, t.bytes);
        const auto next = end ? checkedRoundUp(*end, alignment) : std::nullopt;
        if (!next) return refuse("the file would be too large to count").in("tensor " + shownName(t.name));
        layout.offsets.push_back(at);
        at = *next;
    }
    layout.totalBytes = at;
    return Ok{};
}

Result<FileLayout> layoutSafetensors(std::vector<OutputTensor> tensors, std::span<const OutputMeta> metadata)
{
    FileLayout layout;
    layout.container = Container::Safetensors;
    // As the reference library sorts, so that elements stay aligned whatever the mixture of types.
    std::ranges::sort(tensors, [](const OutputTensor& a, const OutputTensor& b) {
        return a.dtype != b.dtype ? a.dtype > b.dtype : a.name < b.name;
    });
    layout.tensors = std::move(tensors);

    std::string json = "{";
    if (!metadata.empty()) {
        json += "\"__metadata__\":{";
        for (const auto& m : metadata) {
            const auto text = m.type == MetaType::String
                                  ? metaString({m.key, m.type, m.elementType, m.count, m.raw})
                                  : std::nullopt;
            if (!text || !isUtf8(*text))
                return refuse(fmt::format("metadata entry {} is no text; safetensors holds nothing else",
                                          shownName(m.key)));
            if (json.back() != '{') json += ',';
            appendJsonString(json, m.key);
            json += ':';
            appendJsonString(json, *text);
        }
        json += '}';
    }
    std::uint64_t at = 0;
    for (const auto& t : layout.tensors) {
        const auto where = "tensor " + shownName(t.name);
        if (t.name == "__metadata__") return refuse("this name is taken by the format").in(where);
        const auto need = bytesOf(t.dtype, static_cast<std::uint64_t>(t.shape.count()));
        if (need != t.bytes)
            return refuse(fmt::format("{} of {} does not have {} bytes", t.shape.text(), nameOf(t.dtype),
                                      t.bytes))
                .in(where);
        const auto end = checkedAdd(at, t.bytes);
        if (!end) return refuse("the file would be too large to count").in(where);
        if (json.size() > 1) json += ',';
        appendJsonString(json, t.name);
        json += fmt::format(R"(:{{"dtype":"{}","shape":[)", nameOf(t.dtype));
        for (int d = 0; d < t.shape.rank(); ++d)
            json += fmt::format("{}{}", d == 0 ? "" : ",", t.shape[d]);
        json += fmt::format(R"(],"data_offsets":[{},{}]}})", at, *end);
        at = *end;
    }
    json += '}';
    json.resize(ceilDiv<std::size_t>(json.size(), 8) * 8, ' ');
    if (json.size() > kSafetensorsHeaderLimit)
        return refuse(fmt::format("the header would have {} bytes, {} is the most; write several files",
                                  json.size(), kSafetensorsHeaderLimit));
    appendLe(layout.header, static_cast<std::uint64_t>(json.size()));
    appendText(layout.header, json);
    HALFTONE_CHECK(placeTensors(layout, layout.header.size(), 1));
    return layout;
}

Result<std::uint64_t> alignmentOf(std::span<const OutputMeta> metadata)
{
    for (const auto& m : metadata) {
        if (m.key != "general.alignment") continue;
        const auto value = m.type == MetaType::U32 && m.raw.size() == 4 ? readLe<std::uint32_t>(m.raw) : 0u;
        if (value == 0 || (value & (value - 1)) != 0)
            return refuse("general.alignment must be a power of two of type u32");
        return std::uint64_t(value);
    }
    return kGgufAlignment;
}

Status checkGgufTensor(const OutputTensor& t)
{
    if (t.name.size() >= kGgufNameLimit)
        return refuse(
            fmt::format("the name has {} bytes, GGUF takes {} at most", t.name.size(), kGgufNameLimit - 1));
    if (t.shape.rank() > kGgufMaxDims)
        return refuse(fmt::format("{} dimensions, GGUF takes {} at most", t.shape.rank(), kGgufMaxDims));
    const auto* type = ggufTypeInfo(t.ggufType);
    if (type == nullptr) return Ok{}; // copied as it is: only its source knows the size
    const auto blocks = static_cast<std::uint64_t>(t.shape.count()) / type->blockSize;
    if (t.shape.cols() % type->blockSize != 0 ||
        checkedMul<std::uint64_t>(blocks, type->blockBytes) != t.bytes)
        return refuse(fmt::format("{} of {} does not have {} bytes", t.shape.text(), type->name, t.bytes));
    return Ok{};
}

Result<FileLayout> layoutGguf(std::vector<OutputTensor> tensors, std::span<const OutputMeta> metadata)
{
    FileLayout layout;
    layout.container = Container::Gguf;
    layout.tensors = std::move(tensors);
    HALFTONE_TRY(alignment, alignmentOf(metadata));
    auto& out = layout.header;
    appendText(out, "GGUF");
    appendLe<std::uint32_t>(out, 3);
    appendLe<std::uint64_t>(out, layout.tensors.size());
    appendLe<std::uint64_t>(out, metadata.size());
    for (const auto& m : metadata) {
        appendGgufString(out, m.key);
        appendLe(out, static_cast<std::uint32_t>(m.type));
        if (m.type == MetaType::Array) {
            appendLe(out, static_cast<std::uint32_t>(m.elementType));
            appendLe(out, m.count);
        }
        out.insert(out.end(), m.raw.begin(), m.raw.end());
    }
    std::uint64_t at = 0;
    for (const auto& t : layout.tensors) {
        const auto where = "tensor " + shownName(t.name);
        HALFTONE_CHECK(checkGgufTensor(t).in(where));
        appendGgufString(out, t.name);
        appendLe(out, static_cast<std::uint32_t>(t.shape.rank()));
        for (int d = t.shape.rank() - 1; d >= 0; --d)
            appendLe(out, t.shape[d]);
        appendLe(out, t.ggufType);
        appendLe(out, at);
        const auto end = checkedAdd(at, t.bytes);
        const auto next = end ? checkedRoundUp(*end, alignment) : std::nullopt;
        if (!next) return refuse("the file would be too large to count").in(where);
        at = *next;
    }
    out.resize(*checkedRoundUp<std::uint64_t>(out.size(), alignment));
    HALFTONE_CHECK(placeTensors(layout, out.size(), alignment));
    return layout;
}

} // namespace

Result<FileLayout> layoutFile(Container container, std::vector<OutputTensor> tensors,
                              std::span<const OutputMeta> metadata)
{
    try {
        HALFTONE_CHECK(checkNames(tensors, metadata));
        return container == Container::Gguf ? layoutGguf(std::move(tensors), metadata)
                                            : layoutSafetensors(std::move(tensors), metadata);
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, "not enough memory to lay out the file");
    }
}

} // namespace halftone
