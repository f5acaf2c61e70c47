// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/io/packed_support.h"

using namespace halftone;
using namespace halftone::test;

/// Weights of 8-bit and 4-bit floats, integers and tables with scales in tensors of their own.
class TestScaledImport : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void floats8_data()
    {
        QTest::addColumn<QByteArray>("suffix");
        QTest::addColumn<int>("scaleRows");
        QTest::addColumn<int>("scaleCols");
        QTest::addColumn<QByteArray>("type");
        QTest::newRow("a tensor") << QByteArray(".weight_scale") << 1 << 1 << QByteArray("e4m3.t.f32");
        QTest::newRow("a tensor, inverse name")
            << QByteArray(".weight_scale_inv") << 1 << 1 << QByteArray("e4m3.t.f32");
        QTest::newRow("a tensor, short name") << QByteArray(".scale") << 1 << 1 << QByteArray("e4m3.t.f32");
        QTest::newRow("a row") << QByteArray(".weight_scale") << 200 << 1 << QByteArray("e4m3.c.f32");
        QTest::newRow("blocks, edges cut")
            << QByteArray(".weight_scale_inv") << 2 << 3 << QByteArray("F8_E4M3+F32/128x128");
        QTest::newRow("groups of columns")
            << QByteArray(".weight_scale") << 200 << 10 << QByteArray("e4m3.g32.f32");
    }
    void floats8()
    {
        QFETCH(QByteArray, suffix);
        QFETCH(int, scaleRows);
        QFETCH(int, scaleCols);
        QFETCH(QByteArray, type);
        constexpr std::int64_t kRows = 200, kCols = 320;
        std::vector<std::uint8_t> codes;
        for (std::int64_t i = 0; i < kRows * kCols; ++i)
            codes.push_back(static_cast<std::uint8_t>(i % 0x7f)); // no NaN
        std::vector<float> scales;
        for (int i = 0; i < scaleRows * scaleCols; ++i)
            scales.push_back(3.0e-4f * static_cast<float>(1 + i % 5));
        const std::int64_t blockRows = scaleRows == 1 ? kRows : scaleRows == kRows ? 1 : 128;
        const std::int64_t blockCols = scaleCols == 1 ? kCols : scaleCols == 3 ? 128 : 32;
        std::vector<float> expected;
        for (std::int64_t i = 0; i < kRows * kCols; ++i)
            expected.push_back(
                smallFloatValue(codes[static_cast<std::size_t>(i)], kE4M3) *
                scales[static_cast<std::size_t>(i / kCols / blockRows * scaleCols + i % kCols / blockCols)]);
        const auto weight = tensorOfList(kModule + ".weight", {kRows, kCols}, DType::F8E4M3, codes);
        const auto scale =
            tensorOfList(kModule + suffix.toStdString(), {scaleRows, scaleCols}, DType::F32, scales);
        const TempDir dir;
        const auto set = openPacked(dir, {weight, scale}, R"({"quant_method":"fp8"})");
        HALFTONE_VERIFY(set);
        QCOMPARE((*set)->all().size(), std::size_t(1));
        QCOMPARE((*set)->all()[0].type, type.toStdString());
        const bool named = suffix == ".weight_scale"; // as compressed-tensors calls it
        QCOMPARE((*set)->all()[0].packing, std::string(named ? "float-quantized" : "fp8"));
        compareValues(**set, kModule + ".weight", expected, kRows);
        // Weight and scale in two shards.
        Fixture split;
        split.tensors = {weight, scale};
        const auto sharded = Checkpoint::open(writeSharded(split, dir / "shards", 2));
        HALFTONE_VERIFY(sharded);
        QCOMPARE((*sharded)->files().size(), std::size_t(2));
        const auto both = WeightSet::of(*sharded);
        HALFTONE_VERIFY(both);
        compareValues(**both, kModule + ".weight", expected, kRows);
    }

    void floats8WithExponents()
    {
        // E8M0 as its own type, and as U8 for groups of 32 (MXFP8).
        for (const auto dtype : {DType::F8E8M0, DType::U8}) {
            std::vector<std::uint8_t> codes, scales;
            std::vector<float> expected;
            for (int i = 0; i < 4 * 64; ++i) {
                codes.push_back(static_cast<std::uint8_t>(i % 0x7f));
                if (i % 32 == 0) scales.push_back(static_cast<std::uint8_t>(110 + i / 32));
                expected.push_back(smallFloatValue(codes.back(), kE4M3) * e8m0Value(scales.back()));
            }
            const TempDir dir;
            const auto set = openPacked(dir,
                                        {tensorOfList(kModule + ".weight", {4, 64}, DType::F8E4M3, codes),
                                         tensorOfList(kModule + ".weight_scale", {4, 2}, dtype, scales)},
                                        "{}");
            HALFTONE_VERIFY(set);
            compareValues(**set, kModule + ".weight", expected, 4);
        }
    }

    void stackedFloats8()
    {
        std::vector<std::uint8_t> codes;
        std::vector<float> expected;
        const std::vector<float> scales{0.5f, 2.0f, 3.0f};
        for (int i = 0; i < 3 * 4 * 8; ++i) {
            codes.push_back(static_cast<std::uint8_t>(i % 0x7f));
            expected.push_back(smallFloatValue(codes.back(), kE4M3) *
                               scales[static_cast<std::size_t>(i / 32)]);
        }
        const TempDir dir;
        const auto set = openPacked(dir,
                                    {tensorOfList(kModule + ".weight", {3, 4, 8}, DType::F8E4M3, codes),
                                     tensorOfList(kModule + ".weight_scale", {3, 1, 1}, DType::F32, scales)},
                                    "{}");
        HALFTONE_VERIFY(set);
        QCOMPARE((*set)->all()[0].type, std::string("F8_E4M3+F32/matrix"));
        compareValues(**set, kModule + ".weight", expected, 12);
    }

    void floats8WithoutScale()
    {
        const TempDir dir;
        const auto set =
            openPacked(dir, {{kModule + ".weight", {2, 2}, DType::F8E4M3, fromHex("38394041")}}, "{}");
        HALFTONE_VERIFY(set);
        const auto& w = (*set)->all()[0];
        QVERIFY(w.plain == DType::F8E4M3 && !w.isPacked());
        for (const char* part : {"no scale", "weight_scale_inv", "plain values"})
            QVERIFY2(w.note.find(part) != std::string::npos, w.note.c_str());
        const auto values = (*set)->source(w, cpuDevice(), {});
        HALFTONE_VERIFY(values);
        QCOMPARE(std::as_const(*values).values<float>()[0], 1.0f);
    }

    void integers8_data()
    {
        QTest::addColumn<int>("scaleRows");
        QTest::addColumn<int>("scaleCols");
        QTest::addColumn<bool>("zeros");
        QTest::addColumn<QByteArray>("format");
        QTest::newRow("a tensor") << 1 << 1 << false << QByteArray("int8f.t.f32");
        QTest::newRow("a row") << 6 << 1 << false << QByteArray("int8f.c.f32");
        QTest::newRow("a row, zero points") << 6 << 1 << true << QByteArray("int8a.c.f32");
        QTest::newRow("groups, zero points") << 6 << 2 << true << QByteArray("int8a.g35.f32");
    }
    void integers8()
    {
        QFETCH(int, scaleRows);
        QFETCH(int, scaleCols);
        QFETCH(bool, zeros);
        QFETCH(QByteArray, format);
        constexpr std::int64_t kRows = 6, kCols = 70;
        std::vector<std::int8_t> codes, points;
        std::vector<float> scales, expected;
        for (int i = 0; i < scaleRows * scaleCols; ++i) {
            scales.push_back(0.25f * static_cast<float>(1 + i));
            points.push_back(static_cast<std::int8_t>(i * 37 % 256 - 128));
        }
        for (std::int64_t i = 0; i < kRows * kCols; ++i) {
            codes.push_back(static_cast<std::int8_t>(i * 11 % 256 - 128));
            const auto k = static_cast<std::size_t>((scaleRows == 1 ? 0 : i / kCols) * scaleCols +
                                                    i % kCols * scaleCols / kCols);
            expected.push_back(static_cast<float>(codes.back() - (zeros ? points[k] : 0)) * scales[k]);
        }
        std::vector<FixtureTensor> tensors{
            tensorOfList(kModule + ".weight", {kRows, kCols}, DType::I8, codes),
            tensorOfList(kModule + ".weight_scale", {scaleRows, scaleCols}, DType::F32, scales)};
        if (zeros)
            tensors.push_back(
                tensorOfList(kModule + ".weight_zero_point", {scaleRows, scaleCols}, DType::I8, points));
        const TempDir dir;
        const auto set =
            openPacked(dir, tensors, R"({"quant_method":"compressed-tensors","format":"int-quantized"})");
        HALFTONE_VERIFY(set);
        QCOMPARE((*set)->all().size(), std::size_t(1));
        QCOMPARE((*set)->all()[0].type, format.toStdString());
        compareValues(**set, kModule + ".weight", expected, kRows);
    }

    void rowsByAbsoluteMaximum()
    {
        // LLM.int8 of bitsandbytes: code * SCB / 127.
        const TempDir dir;
        const auto set =
            openPacked(dir,
                       {tensorOfList<std::int8_t>(kModule + ".weight", {2, 2}, DType::I8, {127, -127, 64, 0}),
                        tensorOfList<float>(kModule + ".SCB", {2}, DType::F32, {1.27f, 254.0f})},
                       "{}");
        HALFTONE_VERIFY(set);
        const float first = 1.0f / 127.0f * 1.27f, second = 1.0f / 127.0f * 254.0f;
        compareValues(**set, kModule + ".weight", {127 * first, -127 * first, 64 * second, 0}, 2);
    }

    void hostileScales_data()
    {
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("cols");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("more scales than rows") << 9 << 1 << QByteArray("don't fit");
        QTest::newRow("none") << 0 << 1 << QByteArray("don't fit");
        QTest::newRow("uneven") << 8 << 5 << QByteArray("don't fit");
    }
    void hostileScales()
    {
        QFETCH(int, rows);
        QFETCH(int, cols);
        QFETCH(QByteArray, says);
        const TempDir dir;
        const auto set = openPacked(dir,
                                    {{kModule + ".weight", {8, 12}, DType::F8E4M3, Bytes(96)},
                                     {kModule + ".weight_scale",
                                      {rows, cols},
                                      DType::F32,
                                      Bytes(static_cast<std::size_t>(4 * rows * cols))}},
                                    "{}");
        HALFTONE_VERIFY(set);
        QVERIFY2((*set)->all()[0].whyOpaque.find(says.toStdString()) != std::string::npos,
                 (*set)->all()[0].whyOpaque.c_str());
    }
    void floats4_data()
    {
        QTest::addColumn<int>("which");
        QTest::addColumn<QByteArray>("packing");
        QTest::newRow("nvfp4, reciprocal tensor scale") << 0 << QByteArray("nvfp4-pack-quantized");
        QTest::newRow("nvfp4 of ModelOpt") << 1 << QByteArray("modelopt-nvfp4");
        QTest::newRow("mxfp4") << 2 << QByteArray("mxfp4-pack-quantized");
        QTest::newRow("mxfp4, stacked experts") << 3 << QByteArray("mxfp4");
    }
    void floats4()
    {
        QFETCH(int, which);
        QFETCH(QByteArray, packing);
        constexpr float kTable[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
        const bool nv = which < 2;
        const int block = nv ? 16 : 32;
        std::vector<std::uint8_t> bytes, scales;
        std::vector<float> expected;
        for (int i = 0; i < 6 * 64; i += 2) {
            if (i % block == 0)
                scales.push_back(static_cast<std::uint8_t>(nv ? 0x30 + i / block : 120 + i / block));
            const int low = i * 5 % 16, high = (i * 3 + 1) % 16; // the even column has the low half
            bytes.push_back(static_cast<std::uint8_t>(low | high << 4));
            const float scale = nv ? smallFloatValue(scales.back(), kE4M3) * 0.25f : e8m0Value(scales.back());
            for (const int code : {low, high})
                expected.push_back((code < 8 ? kTable[code] : -kTable[code - 8]) * scale);
        }
        std::vector<FixtureTensor> tensors;
        const auto scaleType = nv ? DType::F8E4M3 : DType::U8;
        if (which == 0 || which == 2) {
            tensors = {tensorOfList(kModule + ".weight_packed", {6, 32}, DType::U8, bytes),
                       tensorOfList(kModule + ".weight_scale", {6, 64 / block}, scaleType, scales)};
            if (nv)
                tensors.push_back(
                    tensorOfList<float>(kModule + ".weight_global_scale", {1}, DType::F32, {4.0f}));
        } else if (which == 1) {
            tensors = {tensorOfList(kModule + ".weight", {6, 32}, DType::U8, bytes),
                       tensorOfList(kModule + ".weight_scale", {6, 4}, scaleType, scales),
                       tensorOfList<float>(kModule + ".weight_scale_2", {}, DType::F32, {0.25f}),
                       tensorOfList<float>(kModule + ".input_scale", {}, DType::F32, {2.0f})};
        } else {
            tensors = {tensorOfList("experts.gate_up_proj_blocks", {2, 3, 2, 16}, DType::U8, bytes),
                       tensorOfList("experts.gate_up_proj_scales", {2, 3, 2}, scaleType, scales)};
        }
        const TempDir dir;
        const auto set = openPacked(dir, tensors, "{}");
        HALFTONE_VERIFY(set);
        QCOMPARE((*set)->all().size(), std::size_t(1));
        const auto& w = (*set)->all()[0];
        QCOMPARE(w.packing, packing.toStdString());
        if (which == 3) QCOMPARE(w.shape, (Shape{2, 3, 64}));
        compareValues(**set, w.name, expected, 6);
    }

    void tables4_data()
    {
        QTest::addColumn<bool>("nested");
        QTest::addColumn<int>("cols");
        QTest::addColumn<bool>("format");
        QTest::newRow("nf4") << false << 64 << true;
        QTest::newRow("nf4, double quantization") << true << 64 << false; // a map of its own
        QTest::newRow("nf4, blocks across rows") << false << 24 << false;
    }
    void tables4()
    {
        QFETCH(bool, nested);
        QFETCH(int, cols);
        QFETCH(bool, format);
        const std::vector<float> map{-1.0f,
                                     -0.6961928009986877f,
                                     -0.5250730514526367f,
                                     -0.39491748809814453f,
                                     -0.28444138169288635f,
                                     -0.18477343022823334f,
                                     -0.09105003625154495f,
                                     0.0f,
                                     0.07958029955625534f,
                                     0.16093020141124725f,
                                     0.24611230194568634f,
                                     0.33791524171829224f,
                                     0.44070982933044434f,
                                     0.5626170039176941f,
                                     0.7229568362236023f,
                                     1.0f};
        // 1, -2, 0.5, 0.1, -0.1, 0, 1.5, -1.2 under an absolute maximum of 2, first in the high half.
        const auto golden = fromHex("C0A867E2");
        const std::int64_t rows = 8, count = rows * cols, blocks = (count + 63) / 64;
        std::vector<std::uint8_t> bytes;
        for (std::int64_t i = 0; i < count / 2; ++i)
            bytes.push_back(std::to_integer<std::uint8_t>(golden[static_cast<std::size_t>(i % 4)]));
        std::vector<float> absmax, nestedMap, expected;
        std::vector<std::uint8_t> absmaxCodes;
        for (std::int64_t b = 0; b < blocks; ++b) {
            absmax.push_back(static_cast<float>(b + 2));
            absmaxCodes.push_back(static_cast<std::uint8_t>(200 + b));
        }
        for (int i = 0; i < 256; ++i)
            nestedMap.push_back(static_cast<float>(i - 128) / 128.0f);
        for (std::int64_t i = 0; i < count; ++i) {
            const auto byte = bytes[static_cast<std::size_t>(i / 2)];
            const auto b = static_cast<std::size_t>(i / 64);
            const float scale = nested ? nestedMap[absmaxCodes[b]] * 3.0f + 0.5f : absmax[b];
            expected.push_back(map[static_cast<std::size_t>(i % 2 == 0 ? byte >> 4 : byte & 15)] * scale);
        }
        std::string state = R"({"quant_type": "nf4", "blocksize": 64, "dtype": "float16", "shape": [8, )" +
                            std::to_string(cols) + "]";
        if (nested) state += R"(, "nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": 0.5)";
        state += "}";
        const std::string name = kModule + ".weight";
        std::vector<FixtureTensor> tensors{tensorOfList(name, {count / 2, 1}, DType::U8, bytes),
                                           tensorOfList(name + ".quant_map", {16}, DType::F32, map),
                                           tensorOfList(name + ".quant_state.bitsandbytes__nf4",
                                                        {static_cast<std::int64_t>(state.size())}, DType::U8,
                                                        std::vector<char>(state.begin(), state.end()))};
        if (nested) {
            tensors.push_back(tensorOfList(name + ".absmax", {blocks}, DType::U8, absmaxCodes));
            tensors.push_back(tensorOfList<float>(name + ".nested_absmax", {1}, DType::F32, {3.0f}));
            tensors.push_back(tensorOfList(name + ".nested_quant_map", {256}, DType::F32, nestedMap));
        } else {
            tensors.push_back(tensorOfList(name + ".absmax", {blocks}, DType::F32, absmax));
        }
        const TempDir dir;
        const auto set = openPacked(dir, tensors, "{}");
        HALFTONE_VERIFY(set);
        QCOMPARE((*set)->all().size(), std::size_t(1));
        QCOMPARE((*set)->all()[0].format != nullptr, format);
        compareValues(**set, name, expected, rows);
    }

    void hostileStates_data()
    {
        QTest::addColumn<QByteArray>("state");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("no JSON") << QByteArray("nonsense") << QByteArray("no JSON object");
        QTest::newRow("other type") << QByteArray(R"({"quant_type":"int4","blocksize":64,"shape":[8,64]})")
                                    << QByteArray("type int4");
        QTest::newRow("block of 0") << QByteArray(R"({"quant_type":"nf4","blocksize":0,"shape":[8,64]})")
                                    << QByteArray("blocksize");
        QTest::newRow("negative block")
            << QByteArray(R"({"quant_type":"nf4","blocksize":-64,"shape":[8,64]})")
            << QByteArray("blocksize");
        QTest::newRow("huge shape")
            << QByteArray(R"({"quant_type":"nf4","blocksize":64,"shape":[4000000000,4000000000]})")
            << QByteArray("shape");
        QTest::newRow("other shape") << QByteArray(R"({"quant_type":"nf4","blocksize":64,"shape":[8,65]})")
                                     << QByteArray("260 U8");
        QTest::newRow("no shape") << QByteArray(R"({"quant_type":"nf4","blocksize":64})")
                                  << QByteArray("shape");
        QTest::newRow("nested without offset")
            << QByteArray(R"({"quant_type":"nf4","blocksize":64,"shape":[8,64],"nested_blocksize":256})")
            << QByteArray("nested_offset");
    }
    void hostileStates()
    {
        QFETCH(QByteArray, state);
        QFETCH(QByteArray, says);
        const std::string name = kModule + ".weight";
        const TempDir dir;
        const auto set = openPacked(dir,
                                    {{name, {256, 1}, DType::U8, Bytes(256)},
                                     {name + ".absmax", {8}, DType::F32, Bytes(32)},
                                     {name + ".quant_map", {16}, DType::F32, Bytes(64)},
                                     tensorOfList(name + ".quant_state.bitsandbytes__nf4", {state.size()},
                                                  DType::U8, std::vector<char>(state.begin(), state.end()))},
                                    "{}");
        HALFTONE_VERIFY(set);
        const auto& w = (*set)->all()[0];
        QVERIFY2(w.whyOpaque.find(says.toStdString()) != std::string::npos, w.whyOpaque.c_str());
    }
};

QTEST_GUILESS_MAIN(TestScaledImport)
#include "tst_scaled_import.moc"
