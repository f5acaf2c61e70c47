// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/gguf_tokenizer.h"

#include "core/base/file.h"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

namespace halftone {

namespace {

using Json = nlohmann::json;
constexpr std::uint64_t kMaxTokenizerBytes = 256u << 20;
constexpr std::int64_t kMaxTokens = 1 << 21;

// ggml's token types.
enum TokenType : std::int32_t { Normal = 1, Control = 3, UserDefined = 4, Unused = 5 };

const Json* member(const Json& object, std::string_view key)
{
    if (!object.is_object()) return nullptr;
    const auto it = object.find(key);
    return it == object.end() ? nullptr : &*it;
}

std::string textOf(const Json& object, std::string_view key)
{
    const Json* value = member(object, key);
    return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

bool flagOf(const Json& object, std::string_view key)
{
    const Json* value = member(object, key);
    return value != nullptr && value->is_boolean() && value->get<bool>();
}

// The splitting patterns of a pre-tokenizer, in order, with "digits" for one that isolates digits.
void collectSplits(const Json& pre, std::vector<std::string>& out)
{
    const std::string type = textOf(pre, "type");
    if (type == "Sequence") {
        if (const Json* list = member(pre, "pretokenizers"); list != nullptr && list->is_array())
            for (const auto& item : *list)
                if (textOf(item, "type") != "Sequence") collectSplits(item, out);
    } else if (type == "Digits") {
        out.emplace_back(flagOf(pre, "individual_digits") ? "digits" : "digit-runs");
    } else if (type == "ByteLevel") {
        // With its own pattern unless that is turned off.
        const Json* regex = member(pre, "use_regex");
        if (regex == nullptr || !regex->is_boolean() || regex->get<bool>()) out.emplace_back("gpt-2");
    } else if (type == "Split") {
        const Json* pattern = member(pre, "pattern");
        out.push_back(pattern == nullptr ? std::string("?") : textOf(*pattern, "Regex"));
    } else {
        out.emplace_back("?");
    }
}

// GGUF names the pattern instead of storing it.
std::optional<std::string> preTokenizerName(const Json& tokenizer)
{
    const Json* pre = member(tokenizer, "pre_tokenizer");
    if (pre == nullptr) return std::nullopt;
    std::vector<std::string> splits;
    collectSplits(*pre, splits);
    if (splits.size() == 1 && splits[0] == "gpt-2") return "gpt-2";
    if (splits.size() == 2 && splits[0] == "digits" && splits[1] == "gpt-2") return "smollm";
    if (splits.size() == 1 && splits[0].find("\\p{L}") != std::string::npos) {
        if (splits[0].find("\\p{N}{1,3}") != std::string::npos) return "llama-bpe";
        if (splits[0].find("\\p{N}|") != std::string::npos) return "qwen2";
    }
    return std::nullopt;
}

struct Vocabulary {
    std::vector<std::string> tokens;
    std::vector<std::int32_t> types;
};

Status put(Vocabulary& v, const Json& id, std::string text, TokenType type)
{
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= static_cast<std::uint64_t>(kMaxTokens))
        return Error(Errc::BadFormat, "tokenizer.json: a token's id is not a number below 2^21");
    const auto i = id.get<std::size_t>();
    if (i >= v.tokens.size()) {
        v.tokens.resize(i + 1);
        v.types.resize(i + 1, Unused);
    }
    v.tokens[i] = std::move(text);
    v.types[i] = type;
    return Ok{};
}

Result<Vocabulary> readVocabulary(const Json& tokenizer, const Json& model)
{
    Vocabulary v;
    for (const auto& [text, id] : member(model, "vocab")->items())
        HALFTONE_CHECK(put(v, id, text, Normal));
    if (const Json* added = member(tokenizer, "added_tokens"); added != nullptr && added->is_array())
        for (const auto& token : *added) {
            const Json* id = member(token, "id");
            if (id == nullptr) continue;
            HALFTONE_CHECK(
                put(v, *id, textOf(token, "content"), flagOf(token, "special") ? Control : UserDefined));
        }
    return v;
}

// "a b" or ["a", "b"].
Result<std::vector<std::string>> readMerges(const Json& model)
{
    std::vector<std::string> out;
    const Json* merges = member(model, "merges");
    if (merges == nullptr || !merges->is_array()) return out;
    out.reserve(merges->size());
    for (const auto& merge : *merges) {
        if (merge.is_string())
            out.push_back(merge.get<std::string>());
        else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
            out.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
        else
            return Error(Errc::BadFormat, "tokenizer.json: a merge is neither \"a b\" nor [\"a\", \"b\"]");
    }
    return out;
}

// A token id of config.json: a number or the first of a list.
std::optional<std::uint32_t> idOf(const Json& config, std::string_view key, std::size_t tokens)
{
    const Json* value = member(config, key);
    if (value != nullptr && value->is_array() && !value->empty()) value = &value->front();
    if (value == nullptr || !value->is_number_unsigned() || value->get<std::uint64_t>() >= tokens)
        return std::nullopt;
    return value->get<std::uint32_t>();
}

// A special token of tokenizer_config.json: its text, or an object with the text inside.
std::optional<std::uint32_t> idOfText(const Json& config, std::string_view key, const Vocabulary& v)
{
    std::string text = textOf(config, key);
    if (text.empty())
        if (const Json* object = member(config, key)) text = textOf(*object, "content");
    if (text.empty()) return std::nullopt;
    const auto it = std::find(v.tokens.begin(), v.tokens.end(), text);
    if (it == v.tokens.end()) return std::nullopt;
    return static_cast<std::uint32_t>(it - v.tokens.begin());
}

Status padTo(Vocabulary& v, std::int64_t rows, std::vector<std::string>& warnings)
{
    const auto count = static_cast<std::int64_t>(v.tokens.size());
    if (count > rows)
        return Error(
            Errc::InvalidArgument,
            fmt::format("tokenizer.json: {} tokens for {} embedding rows: they don't belong together; take "
                        "the tokenizer of this model",
                        count, rows));
    if (count < rows)
        warnings.push_back(fmt::format(
            "the tokenizer has {} tokens for {} embedding rows: padded with unused ones", count, rows));
    v.tokens.resize(static_cast<std::size_t>(rows));
    v.types.resize(static_cast<std::size_t>(rows), Unused);
    for (std::size_t i = 0; i < v.tokens.size(); ++i)
        if (v.types[i] == Unused && v.tokens[i].empty()) v.tokens[i] = fmt::format("[PAD{}]", i);
    return Ok{};
}

Result<std::vector<OutputMeta>> build(std::string_view text, std::string_view configText,
                                      std::string_view tokenizerConfigText, std::int64_t rows,
                                      std::vector<std::string>& warnings)
{
    const auto refuse = [&](std::string why) {
        warnings.push_back(std::move(why) + ": the file gets no tokenizer, runtimes will need it");
        return std::vector<OutputMeta>{};
    };
    const Json tokenizer = Json::parse(text, nullptr, false);
    const Json* model = member(tokenizer, "model");
    if (model == nullptr || !model->is_object()) return refuse("tokenizer.json is not readable");
    const Json* vocab = member(*model, "vocab");
    const std::string type = textOf(*model, "type");
    if ((type != "BPE" && !type.empty()) || flagOf(*model, "byte_fallback") || vocab == nullptr ||
        !vocab->is_object())
        return refuse(
            fmt::format("tokenizer.json is of type {}, not byte-level BPE", type.empty() ? "unknown" : type));
    HALFTONE_TRY(v, readVocabulary(tokenizer, *model));
    HALFTONE_TRY(merges, readMerges(*model));
    if (rows > 0 && rows <= kMaxTokens) HALFTONE_CHECK(padTo(v, rows, warnings));

    auto pre = preTokenizerName(tokenizer);
    if (!pre) {
        warnings.emplace_back(
            "the tokenizer's word pattern has no name in GGUF: written as \"default\", runtimes "
            "may split words differently");
        pre = "default";
    }
    const Json config = Json::parse(configText, nullptr, false);
    const Json tokenizerConfig = Json::parse(tokenizerConfigText, nullptr, false);
    std::vector<OutputMeta> out;
    out.push_back(metaOf("tokenizer.ggml.model", "gpt2"));
    out.push_back(metaOf("tokenizer.ggml.pre", *pre));
    out.push_back(metaOfStrings("tokenizer.ggml.tokens", v.tokens));
    out.push_back(metaOfI32s("tokenizer.ggml.token_type", v.types));
    out.push_back(metaOfStrings("tokenizer.ggml.merges", merges));
    for (const auto& [name, key] :
         {std::pair{"bos", "bos_token"}, {"eos", "eos_token"}, {"unk", "unk_token"}, {"pad", "pad_token"}}) {
        auto id = idOf(config, std::string(key) + "_id", v.tokens.size());
        if (!id) id = idOfText(tokenizerConfig, key, v);
        // GGUF's own spelling: "unknown" and "padding".
        const std::string spelled = std::string_view(name) == "unk"   ? "unknown"
                                    : std::string_view(name) == "pad" ? "padding"
                                                                      : name;
        if (id) out.push_back(metaOfU32("tokenizer.ggml." + spelled + "_token_id", *id));
    }
    for (const std::string_view key : {"add_bos_token", "add_eos_token"})
        if (const Json* flag = member(tokenizerConfig, key); flag != nullptr && flag->is_boolean())
            out.push_back(metaOfBool("tokenizer.ggml." + std::string(key), flag->get<bool>()));
    if (const std::string chat = textOf(tokenizerConfig, "chat_template"); !chat.empty())
        out.push_back(metaOf("tokenizer.chat_template", chat));
    return out;
}

// A live plan asks again and again: the last tokenizer is kept, by path, size and time.
struct Cache {
    std::mutex mutex;
    std::string key;
    std::vector<OutputMeta> entries;
    std::vector<std::string> warnings;
};
Cache& cache()
{
    static Cache instance;
    return instance;
}

} // namespace

Result<std::vector<OutputMeta>> ggufTokenizerOf(std::string_view tokenizer, std::string_view config,
                                                std::string_view tokenizerConfig, std::int64_t rows,
                                                std::vector<std::string>& warnings)
{
    try {
        return build(tokenizer, config, tokenizerConfig, rows, warnings);
    } catch (const std::bad_alloc&) {
        return Error(Errc::OutOfMemory, "tokenizer.json: not enough memory to read it");
    } catch (const std::exception&) {
        return Error(Errc::BadFormat, "tokenizer.json: a field is of an unexpected type");
    }
}

Result<std::vector<OutputMeta>> ggufTokenizer(const Checkpoint& source, std::int64_t rows,
                                              std::vector<std::string>& warnings)
{
    std::filesystem::path tokenizer, tokenizerConfig;
    for (const auto& path : source.sidecars()) {
        if (path.filename() == "tokenizer.json") tokenizer = path;
        if (path.filename() == "tokenizer_config.json") tokenizerConfig = path;
    }
    if (tokenizer.empty()) {
        warnings.emplace_back(
            "no tokenizer.json beside the checkpoint: the file gets no tokenizer, runtimes will "
            "need it");
        return std::vector<OutputMeta>{};
    }
    std::error_code ignored;
    const auto size = std::filesystem::file_size(tokenizer, ignored);
    const auto time = std::filesystem::last_write_time(tokenizer, ignored).time_since_epoch().count();
    const std::string key =
        fmt::format("{}|{}|{}|{}|{}", tokenizer.string(), size, time, rows, source.contentHash());
    Cache& kept = cache();
    {
        const std::scoped_lock lock(kept.mutex);
        if (kept.key == key) {
            warnings.insert(warnings.end(), kept.warnings.begin(), kept.warnings.end());
            return kept.entries;
        }
    }
    HALFTONE_TRY(text, readTextFile(tokenizer, kMaxTokenizerBytes));
    std::string extra;
    if (!tokenizerConfig.empty())
        if (auto read = readTextFile(tokenizerConfig, kMaxTokenizerBytes)) extra = std::move(*read);
    std::vector<std::string> found;
    HALFTONE_TRY(entries, ggufTokenizerOf(text, source.configJson(), extra, rows, found));
    warnings.insert(warnings.end(), found.begin(), found.end());
    const std::scoped_lock lock(kept.mutex);
    kept.key = key;
    kept.entries = entries;
    kept.warnings = std::move(found);
    return entries;
}

} // namespace halftone
