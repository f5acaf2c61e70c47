// SPDX-License-Identifier: GPL-3.0-or-later
// Writes the corpora of the fuzz targets: small files of every kind that the readers tell apart, whole and
// broken ones.
#include "core/io/compressed_tensors.h"
#include "tests/support/byte_writer.h"
#include "tests/support/imatrix_files.h"

#include <cstring>
#include <filesystem>
#include <string>

using namespace halftone;
using namespace halftone::test;

namespace {

class Corpus {
public:
    explicit Corpus(std::filesystem::path folder) : m_folder(std::move(folder))
    {
        std::filesystem::create_directories(m_folder);
    }
    void add(const char* name, const Bytes& bytes) const { writeBytes(m_folder / name, bytes); }

private:
    std::filesystem::path m_folder;
};

Bytes counting(std::size_t count)
{
    Bytes out(count);
    for (std::size_t i = 0; i < count; ++i)
        out[i] = static_cast<std::byte>(73 * i + 41);
    return out;
}

void safetensors(const Corpus& corpus)
{
    const auto text = [&](const char* name, std::string_view header, std::size_t data) {
        corpus.add(name, safetensorsBytes(header, counting(data)));
    };
    text("one", R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  )", 8);
    text(
        "types",
        R"({"__metadata__":{"format":"pt","a":"b"},"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
        R"("b":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[12,16]},)"
        R"("c":{"dtype":"F4","shape":[2,2],"data_offsets":[16,18]},)"
        R"("d":{"dtype":"BOOL","shape":[],"data_offsets":[18,19]},)"
        R"("e":{"dtype":"F64","shape":[0,7],"data_offsets":[19,19]}})",
        19);
    text("hole", R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}})", 20);
    text(
        "overlap",
        R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
        8);
    text(
        "twice",
        R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
        2);
    text("overflow",
         R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,18446744073709551615]}})",
         8);
    text("odd",
         R"({"n":{"dtype":"Q9","shape":[4],"data_offsets":[0,6],"x":[{"y":[1,-2,3.5,null,true]}]},)"
         R"("deep":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[6,8]}})",
         8);
    text("scaled",
         R"({"q.weight":{"dtype":"F8_E4M3","shape":[2,2],"data_offsets":[0,4]},)"
         R"("q.weight_scale":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
         8);
    text("utf8", "{\"\xc3\x28\":{}}", 0);
    text("deep", std::string("{\"a\":{\"x\":") + std::string(100, '['), 0);
    corpus.add("length-2-63", safetensorsBytes(std::uint64_t(1) << 63, "{}", {}));
    corpus.add("length-cut", safetensorsBytes(99, "{}", counting(8)));
    corpus.add("short", counting(7));

    // One pack-quantized weight [4, 32] of 4 bits with zero points.
    Bytes data = counting(64 + 8 + 4);
    const std::int64_t shape[] = {4, 32};
    const auto tail = std::as_bytes(std::span(shape));
    data.insert(data.end(), tail.begin(), tail.end());
    corpus.add(
        "packed",
        safetensorsBytes(
            R"({"__metadata__":{"quantization_config":"{\"quant_method\":\"compressed-tensors\",)"
            R"(\"format\":\"pack-quantized\",\"config_groups\":{\"g\":{\"targets\":[\"Linear\"],)"
            R"(\"weights\":{\"num_bits\":4,\"type\":\"int\",\"symmetric\":false,\"strategy\":\"group\",)"
            R"(\"group_size\":32}}}}"},)"
            R"("m.weight_packed":{"dtype":"I32","shape":[4,4],"data_offsets":[0,64]},)"
            R"("m.weight_scale":{"dtype":"F16","shape":[4,1],"data_offsets":[64,72]},)"
            R"("m.weight_zero_point":{"dtype":"I32","shape":[1,1],"data_offsets":[72,76]},)"
            R"("m.weight_shape":{"dtype":"I64","shape":[2],"data_offsets":[76,92]}})",
            data));
}

// Without the magic: the target puts it in front.
Bytes body(const Bytes& gguf) { return {gguf.begin() + 4, gguf.end()}; }
Bytes body(const GgufBuilder& builder) { return body(builder.finish()); }

void gguf(const Corpus& corpus)
{
    const auto key = [&](const char* name, std::uint32_t type, const Bytes& value) {
        GgufBuilder b;
        b.raw("k", type, value);
        corpus.add(name, body(b));
    };
    const auto tensor = [&](const char* name, std::vector<std::uint64_t> dims, std::uint32_t type,
                            std::uint64_t offset) {
        GgufBuilder b;
        b.tensor("good", {16}, 0, counting(64)).info("t", std::move(dims), type, offset);
        corpus.add(name, body(b));
    };
    GgufBuilder q8;
    q8.text("general.architecture", "llama").tensor("t", {32}, 8, counting(34));
    corpus.add("one", body(q8));

    GgufBuilder blocks;
    for (const std::uint32_t id : {0u, 1u, 2u, 3u, 6u, 7u, 8u, 24u, 28u, 30u}) {
        const auto& t = *ggufTypeInfo(id);
        blocks.tensor(t.name, {32, 2}, id, counting(std::size_t(64) / t.blockSize * t.blockBytes));
    }
    corpus.add("blocks", body(blocks));

    GgufBuilder opaque;
    opaque.tensor("k", {256}, 12, counting(144)).tensor("mx", {32}, 39, counting(17));
    opaque.tensor("unknown", {7, 3}, 999, counting(50)).tensor("last", {4}, 0, counting(16));
    corpus.add("opaque", body(opaque));

    GgufBuilder keys;
    for (std::uint32_t type = 0; type <= 12; ++type)
        if (type < 8 || type > 9) keys.raw("n" + std::to_string(type), type, counting(std::size_t(8)));
    corpus.add("numbers", body(keys)); // too long for the narrow ones: reads on with wrong keys
    GgufBuilder lists;
    lists.text("s", "text").u32("general.alignment", 64);
    lists.raw("l", 9, ByteWriter().put(8u).put(std::uint64_t(2)).ggufString("x").ggufString("yz").out);
    lists.raw("e", 9, ByteWriter().put(12u).put(std::uint64_t(0)).out);
    lists.alignment = 64;
    lists.tensor("t", {4, 2}, 0, counting(32));
    corpus.add("lists", body(lists));
    GgufBuilder split;
    split.u16("split.no", 0).u16("split.count", 3).i32("split.tensors.count", 1);
    split.tensor("t", {4}, 0, counting(16));
    corpus.add("split", body(split));
    GgufBuilder old;
    old.version = 1;
    corpus.add("version-1", body(old));
    old.version = 0x03000000;
    corpus.add("big-endian", body(old));

    ByteWriter nested;
    for (int i = 0; i < 1000; ++i)
        nested.put(9u).put(std::uint64_t(1));
    key("nested", 9, nested.out);
    key("string-length", 8, ByteWriter().put(~std::uint64_t(0)).out);
    key("array-count", 9, ByteWriter().put(4u).put(std::uint64_t(1) << 61).out);
    key("value-type", 13, counting(8));
    tensor("dims-wrap", {1ull << 32, 1ull << 32}, 0, 64);
    tensor("bytes-wrap", {1ull << 62}, 0, 64);
    tensor("offset-wrap", {16}, 0, ~0ull - 31);
    tensor("overlap", {16}, 0, 32);
    tensor("empty-tensor", {0, 4}, 0, 64);
    tensor("negative", {~0ull}, 0, 64);
    corpus.add("kv-count", body(ByteWriter().text("GGUF").put(3u).put(0ull).put(1ull << 40).pad(64).out));
}

void imatrix(const Corpus& corpus)
{
    const ImatrixPart down{"blk.0.ffn_down.weight", {8, 2, 0, 6}, {4}};
    const ImatrixPart experts{"blk.0.ffn_up_exps.weight", {3, 6, 9, 12, 5, 5}, {3, 0, 5}};
    corpus.add("one", ggufImatrix({down}));
    corpus.add("experts", ggufImatrix({down, experts}));
    corpus.add("old", oldImatrix({down, experts}, ""));
    corpus.add("old-tail", oldImatrix({down, experts}));
    const Bytes four = floatBytes({1, 2, 3, 4});
    corpus.add("no-counts", imatrixKeys().tensor("t.in_sum2", {4}, 0, four).finish());
    corpus.add("no-type", GgufBuilder().tensor("t.in_sum2", {4}, 0, four).finish());
    corpus.add("counts-differ",
               imatrixKeys().tensor("t.in_sum2", {2, 2}, 0, four).tensor("t.counts", {4}, 0, four).finish());
    corpus.add("twice", oldImatrix({down, down}));
    const auto head = [](std::int32_t count) { return ByteWriter().put(count); };
    corpus.add("many-entries", head(0x7fffffff).pad(64).out);
    corpus.add("long-name", head(1).put(0x7fffffff).pad(64).out);
    corpus.add("many-values", head(1).put(1).text("t").put(1).put(0x7fffffff).bytes(four).out);
    corpus.add("tail-length", ByteWriter().bytes(oldImatrix({down}, "")).put(1).put(99).out);
}

} // namespace

int main(int argc, char** argv)
{
    if (argc != 2) return 2;
    const std::filesystem::path folder = argv[1];
    safetensors(Corpus(folder / "safetensors"));
    gguf(Corpus(folder / "gguf"));
    imatrix(Corpus(folder / "imatrix"));
    return 0;
}
