// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/io/safetensors_header.h"

#include "core/base/checked.h"
#include "core/io/checkpoint_impl.h"
#include "core/io/json_walk.h"
#include "core/io/le_bytes.h"
#include "core/io/text_names.h"

#include <algorithm>
#include <fmt/core.h>
#include <limits>

namespace halftone {

namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::size_t kMaxDims = 64;

// Why values of a plain type are not numbers; empty when they are.
std::string whyNoNumbers(DType dtype)
{
    if (dtype == DType::Bool) return "BOOL values are no numbers";
    if (dtype == DType::C64) return "complex numbers are not supported";
    if (dtype == DType::F4 || dtype == DType::F6E2M3 || dtype == DType::F6E3M2)
        return fmt::format("{} is not decoded by this version", nameOf(dtype));
    return {};
}

// {"name": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "__metadata__": {"key": "value"}}
class HeaderVisitor final : public JsonVisitor {
public:
    explicit HeaderVisitor(SafetensorsHeader& out) : m_out(out) {}

    bool beginObject() override
    {
        if (m_skip > 0) return ++m_skip, true;
        switch (m_state) {
        case State::Start:
            return go(State::Names);
        case State::Value:
            return go(m_metadata ? State::MetaKeys : State::Fields);
        case State::Ignored:
            return ++m_skip, true;
        default:
            return unexpected("an object");
        }
    }
    bool endObject() override
    {
        if (m_skip > 0) return leaveSkipped();
        if (m_state == State::Names) return go(State::Done);
        if (m_state == State::MetaKeys) return go(State::Names);
        return finishTensor() && go(State::Names);
    }
    bool beginArray() override
    {
        if (m_skip > 0) return ++m_skip, true;
        switch (m_state) {
        case State::Shape:
            return go(State::Dims);
        case State::Offsets:
            return go(State::Bounds);
        case State::Ignored:
            return ++m_skip, true;
        default:
            return unexpected("an array");
        }
    }
    bool endArray() override
    {
        if (m_skip > 0) return leaveSkipped();
        if (m_state == State::Bounds && m_bounds.size() != 2)
            return fail(fmt::format("data_offsets has {} numbers, 2 expected", m_bounds.size()));
        return go(State::Fields);
    }
    bool key(std::string& text) override
    {
        if (m_skip > 0) return true;
        switch (m_state) {
        case State::Names:
            m_metadata = text == "__metadata__";
            if (m_metadata && m_seenMetadata) return fail("__metadata__ stands twice");
            m_seenMetadata = m_seenMetadata || m_metadata;
            startTensor(text);
            return go(State::Value);
        case State::MetaKeys:
            m_out.metadata.emplace_back(std::move(text), std::string());
            return go(State::MetaText);
        case State::Fields:
            return field(text);
        default:
            return unexpected("a key");
        }
    }
    bool value(const JsonScalar& scalar) override
    {
        if (m_skip > 0) return true;
        switch (m_state) {
        case State::MetaText:
            if (const auto* text = std::get_if<std::string_view>(&scalar)) {
                m_out.metadata.back().second = *text;
                return go(State::MetaKeys);
            }
            return fail(
                fmt::format("__metadata__ entry {} is no text", shownName(m_out.metadata.back().first)));
        case State::DTypeText:
            if (const auto* text = std::get_if<std::string_view>(&scalar)) {
                m_dtype = *text;
                return go(State::Fields);
            }
            return fail("dtype is no text");
        case State::Dims:
            return number(scalar, m_dims, kMaxDims, "shape");
        case State::Bounds:
            return number(scalar, m_bounds, 2, "data_offsets");
        case State::Ignored:
            return go(State::Fields);
        default:
            return unexpected("a value");
        }
    }
    bool complete() const { return m_state == State::Done; }

private:
    enum class State : std::uint8_t {
        Start,
        Names,
        Value,
        MetaKeys,
        MetaText,
        Fields,
        DTypeText,
        Shape,
        Dims,
        Offsets,
        Bounds,
        Ignored,
        Done
    };

    bool go(State next)
    {
        m_state = next;
        return true;
    }
    bool leaveSkipped()
    {
        if (--m_skip == 0) m_state = State::Fields;
        return true;
    }
    bool fail(std::string text)
    {
        why = m_name.empty() ? std::move(text) : fmt::format("tensor {}: {}", shownName(m_name), text);
        return false;
    }
    bool unexpected(const char* what)
    {
        return fail(fmt::format("is no safetensors header: {} where it can't be", what));
    }
    void startTensor(std::string& name)
    {
        m_name = m_metadata ? std::string() : std::move(name);
        m_dtype.clear();
        m_dims.clear();
        m_bounds.clear();
        m_seenDtype = m_seenShape = m_seenOffsets = false;
    }
    bool field(const std::string& text)
    {
        const auto once = [&](bool& seen, State next) {
            if (seen) return fail(text + " stands twice");
            seen = true;
            return go(next);
        };
        if (text == "dtype") return once(m_seenDtype, State::DTypeText);
        if (text == "shape") return once(m_seenShape, State::Shape);
        if (text == "data_offsets") return once(m_seenOffsets, State::Offsets);
        return go(State::Ignored); // as the reference reader does
    }
    bool number(const JsonScalar& scalar, std::vector<std::uint64_t>& out, std::size_t limit,
                const char* what)
    {
        const auto* n = std::get_if<std::uint64_t>(&scalar);
        if (n == nullptr) return fail(fmt::format("{} holds something that is no whole number >= 0", what));
        if (out.size() == limit) return fail(fmt::format("{} has more than {} numbers", what, limit));
        out.push_back(*n);
        return true;
    }

    bool finishTensor()
    {
        if (!m_seenDtype || !m_seenShape || !m_seenOffsets) return fail("lacks dtype, shape or data_offsets");
        if (m_bounds[0] > m_bounds[1])
            return fail(fmt::format("data_offsets run backwards, {} to {}", m_bounds[0], m_bounds[1]));
        TensorInfo info;
        info.fileOffset = m_bounds[0];
        info.bytes = m_bounds[1] - m_bounds[0];
        std::uint64_t count = 1;
        std::vector<std::int64_t> dims;
        std::string shape;
        for (const std::uint64_t d : m_dims) {
            const auto product = checkedMul(count, d);
            constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
            if (!product || *product > kMost || d > kMost)
                return fail("the number of elements overflows; the file is damaged or forged");
            count = *product;
            dims.push_back(static_cast<std::int64_t>(d));
            shape += (shape.empty() ? "" : " x ") + std::to_string(d);
        }
        const auto dtype = dtypeNamed(m_dtype);
        info.stored.name = shownName(m_dtype);
        if (dtype) {
            const auto need = bytesOf(*dtype, count);
            if (!need) return fail(fmt::format("{} elements of {} don't fill whole bytes", count, m_dtype));
            if (*need != info.bytes)
                return fail(
                    fmt::format("shape {} of {} needs {} bytes, but data_offsets span {}; the file is "
                                "damaged",
                                shape.empty() ? "scalar" : shape, m_dtype, *need, info.bytes));
            info.stored.plain = *dtype;
            info.stored.whyOpaque = whyNoNumbers(*dtype);
        } else {
            info.stored.whyOpaque =
                fmt::format("element type {} is unknown to this version", info.stored.name);
        }
        if (const auto known = Shape::checked(dims)) {
            info.shape = *known;
        } else {
            // Sized and copied like any other tensor, only not seen as an array.
            info.shape = {static_cast<std::int64_t>(count)};
            info.stored.whyOpaque =
                fmt::format("has {} dimensions, at most {} are supported", dims.size(), Shape::kMaxRank);
        }
        info.name = std::move(m_name);
        m_out.tensors.push_back(std::move(info));
        m_name.clear();
        return true;
    }

    SafetensorsHeader& m_out;
    State m_state = State::Start;
    int m_skip = 0;
    bool m_metadata = false, m_seenMetadata = false;
    bool m_seenDtype = false, m_seenShape = false, m_seenOffsets = false;
    std::string m_name, m_dtype;
    std::vector<std::uint64_t> m_dims, m_bounds;
};

} // namespace

bool looksLikeSafetensors(std::span<const std::byte> bytes)
{
    if (bytes.size() < kLengthBytes + 2) return false;
    const auto length = readLe<std::uint64_t>(bytes);
    return length <= kSafetensorsHeaderLimit && fits(kLengthBytes, length, bytes.size()) &&
           bytes[kLengthBytes] == std::byte{'{'};
}

Result<SafetensorsHeader> readSafetensorsHeader(std::span<const std::byte> file)
{
    const auto bad = [](std::string text) { return Error(Errc::BadFormat, std::move(text)); };
    if (file.empty()) return bad("is empty (0 bytes); get the file again");
    if (file.size() < kLengthBytes)
        return bad(
            fmt::format("has only {} bytes, too few for a checkpoint; get the file again", file.size()));
    const auto length = readLe<std::uint64_t>(file);
    if (length > kSafetensorsHeaderLimit || !fits(kLengthBytes, length, file.size()))
        return bad(
            fmt::format("is no checkpoint or is cut: as safetensors its header would have {} bytes, but "
                        "the file has {} and {} is the most; get the file again",
                        length, file.size(), kSafetensorsHeaderLimit));
    const auto text = asText(file.subspan(kLengthBytes, length));
    if (text.empty() || text.front() != '{')
        return bad("is no checkpoint: neither GGUF, nor does a safetensors header start at byte 8");

    SafetensorsHeader header;
    header.headerBytes = kLengthBytes + length;
    HeaderVisitor visitor(header);
    // Deep enough for what other programs may add to an entry one day.
    HALFTONE_CHECK(walkJson(text, 32, visitor).in("header"));
    if (!visitor.complete()) return bad("header: is no safetensors header");
    auto& meta = header.metadata;
    std::ranges::sort(meta);
    const auto twice =
        std::ranges::adjacent_find(meta, [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice != meta.end())
        return bad(fmt::format("header: __metadata__ entry {} stands twice", shownName(twice->first)));

    auto& tensors = header.tensors;
    std::ranges::stable_sort(tensors, [](const TensorInfo& a, const TensorInfo& b) {
        return std::pair(a.fileOffset, a.bytes) < std::pair(b.fileOffset, b.bytes);
    });
    HALFTONE_TRY(tiling, checkTiling(tensors, file.size() - header.headerBytes, 1));
    header.problems = std::move(tiling.problems);
    header.cut = std::move(tiling.cut);
    header.end = tiling.end + header.headerBytes;
    for (auto& t : tensors)
        t.fileOffset += header.headerBytes;
    return header;
}

} // namespace halftone
