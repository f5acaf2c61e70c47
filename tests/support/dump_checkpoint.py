# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a checkpoint with the Python packages gguf or safetensors and writes every weight as float32.

usage: dump_checkpoint.py FILE FOLDER

FOLDER gets one line a weight in index.txt (number, rows x columns as extents, name) and its values,
row-major, in NUMBER.f32. Weights in the layouts of compressed-tensors, GPTQ, AWQ and bitsandbytes are unpacked
here from the layouts' descriptions, without a line of Halftone's code. Exit code 77: a package is missing.
"""
import json
import pathlib
import sys

try:
    import gguf
    import numpy as np
    import safetensors
except ImportError as missing:
    print(missing)
    sys.exit(77)


def from_gguf(path):
    for tensor in gguf.GGUFReader(path).tensors:
        shape = [int(n) for n in reversed(tensor.shape)]
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        yield tensor.name, shape, values.astype(np.float32).reshape(shape)


def small_floats(exponent_bits, mantissa_bits, bias):
    """Values of all codes of sign, exponent and mantissa; the largest magnitude of E4M3 is NaN."""
    count = 1 << (exponent_bits + mantissa_bits)
    codes = np.arange(count)
    exponent, mantissa = codes >> mantissa_bits, codes & ((1 << mantissa_bits) - 1)
    unit = 2.0 ** (np.maximum(exponent, 1) - bias - mantissa_bits)
    values = (mantissa + np.where(exponent > 0, 1 << mantissa_bits, 0)) * unit
    if exponent_bits == 4:
        values[-1] = np.nan
    return np.concatenate([values, -values]).astype(np.float32)


E4M3 = small_floats(4, 3, 7)
E2M1 = small_floats(2, 1, 1)


def plain(entry):
    """Values of one stored tensor; numpy knows no BF16."""
    kinds = {"F32": np.float32, "F16": np.float16, "I32": np.int32, "I64": np.int64, "I8": np.int8, "U8": np.uint8}
    if entry["dtype"] == "F8_E4M3":
        return E4M3[np.frombuffer(entry["data"], dtype=np.uint8)].reshape(entry["shape"])
    if entry["dtype"] == "BF16":
        halves = np.frombuffer(entry["data"], dtype=np.uint16).astype(np.uint32) << 16
        return halves.view(np.float32).reshape(entry["shape"])
    return np.frombuffer(entry["data"], dtype=kinds[entry["dtype"]]).reshape(entry["shape"])


def unpack(words, bits, count, axis):
    """Codes of `bits` each from a little-endian bit stream along `axis`, made signed."""
    if axis == 0:
        return unpack(words.T.copy(), bits, count, 1).T
    stream = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, : count * bits]
    planes = stream.reshape(words.shape[0], count, bits).astype(np.int32)
    return (planes << np.arange(bits, dtype=np.int32)).sum(axis=2) - (1 << (bits - 1))


def unpacked(name, parts, bits):
    rows, cols = (int(n) for n in plain(parts[name + "_shape"]))
    codes = unpack(plain(parts[name + "_packed"]), bits, cols, 1)
    scale = plain(parts[name + "_scale"]).astype(np.float32)
    zero = np.zeros(scale.shape, dtype=np.int32)
    if name + "_zero_point" in parts:
        stored = parts[name + "_zero_point"]
        zero = plain(stored).astype(np.int32) if stored["dtype"] == "I8" else unpack(plain(stored), bits, rows, 0)
    if scale.ndim == 1:  # one scale a tensor
        return [rows, cols], (codes - zero.reshape(1, -1)).astype(np.float32) * scale
    group = -(-cols // scale.shape[1])
    # The group size is a power of two here whenever the last group is short.
    if scale.shape[1] > 1 and cols % scale.shape[1] != 0:
        group = 1 << (group - 1).bit_length()
    columns = np.arange(cols) // group
    return [rows, cols], (codes - zero[:, columns]).astype(np.float32) * scale[:, columns]


def spread(scale, shape):
    """Scales of a tensor, its rows or its groups, one a weight."""
    scale = scale.astype(np.float32)
    if scale.ndim < 2:
        return np.broadcast_to(scale.reshape(1, 1), shape)
    return np.repeat(scale, shape[1] // scale.shape[1], axis=1)


def nibbles(entry):
    """Two E2M1 codes a byte, the even column in the low half."""
    data = plain(entry)
    return E2M1[np.stack([data & 15, data >> 4], axis=2).reshape(data.shape[0], -1)]


def from_fp4(stem, parts):
    values, scale = nibbles(parts[stem + "_packed"]), plain(parts[stem + "_scale"])
    if stem + "_global_scale" in parts:
        scale = scale * (np.float32(1) / plain(parts[stem + "_global_scale"]))
    else:
        scale = np.exp2(scale.astype(np.float32) - np.float32(127))
    return list(values.shape), values * spread(scale, values.shape)


def from_elements(name, parts):
    codes, scale = plain(parts[name]), plain(parts[name + "_scale"])
    if parts[name + "_scale"]["dtype"] == "U8":
        scale = np.exp2(scale.astype(np.float32) - np.float32(127))
    if name + "_zero_point" in parts:
        zero = plain(parts[name + "_zero_point"]).astype(np.int32)
        codes = codes.astype(np.int32) - np.repeat(zero, codes.shape[1] // zero.shape[1], axis=1)
    return list(codes.shape), codes.astype(np.float32) * spread(scale, codes.shape)


def awq_codes(words):
    """Eight outputs a word in the order 0 2 4 6 1 3 5 7."""
    codes = (words.astype(np.uint32)[:, :, None] >> np.arange(0, 32, 4, dtype=np.uint32)) & 15
    out = np.empty_like(codes)
    out[:, :, [0, 2, 4, 6, 1, 3, 5, 7]] = codes
    return out.reshape(words.shape[0], -1).astype(np.int32)


def from_columns(module, parts, config):
    """GPTQ and AWQ: weights [in, out]."""
    bits, scales = config["bits"], plain(parts[module + ".scales"]).astype(np.float32)
    words, zeros = plain(parts[module + ".qweight"]), plain(parts[module + ".qzeros"])
    if config["quant_method"] == "awq":
        codes, zeros = awq_codes(words), awq_codes(zeros)
        group = np.arange(codes.shape[0]) // (codes.shape[0] // scales.shape[0])
    else:
        group = plain(parts[module + ".g_idx"])
        half = 1 << (bits - 1)
        codes = unpack(words, bits, len(group), 0) + half
        zeros = unpack(zeros, bits, scales.shape[1], 1) + half + (config["checkpoint_format"] == "gptq")
    values = (codes - zeros[group]).astype(np.float32) * scales[group]
    return list(values.T.shape), np.ascontiguousarray(values.T)


def from_table(name, parts):
    """NF4 and FP4 of bitsandbytes: the first code of a byte in the high half."""
    state = next(k for k in parts if k.startswith(name + ".quant_state."))
    state = json.loads(bytes(parts[state]["data"]))
    data = plain(parts[name]).reshape(-1)
    codes = np.stack([data >> 4, data & 15], axis=1).reshape(-1)
    scale = plain(parts[name + ".absmax"])
    if "nested_offset" in state:
        runs = np.repeat(plain(parts[name + ".nested_absmax"]), state["nested_blocksize"])[: len(scale)]
        scale = plain(parts[name + ".nested_quant_map"])[scale] * runs + np.float32(state["nested_offset"])
    values = plain(parts[name + ".quant_map"])[codes] * np.repeat(scale, state["blocksize"])
    return state["shape"], values.astype(np.float32)


# Tensors that belong to a weight under another name.
PARTS = ("_scale", "_shape", "_zero_point", "_global_scale", ".qzeros", ".scales", ".g_idx", ".absmax", ".quant_map",
         ".nested_absmax", ".nested_quant_map", ".quant_state.bitsandbytes__nf4", ".quant_state.bitsandbytes__fp4")


def from_safetensors(path):
    data = path.read_bytes()
    parts = dict(safetensors.deserialize(data))
    length = int.from_bytes(data[:8], "little")
    metadata = json.loads(data[8 : 8 + length]).get("__metadata__", {})
    text = metadata.get("quantization_config")
    if text is None and (path.parent / "config.json").exists():
        config = json.loads((path.parent / "config.json").read_text())
        text = json.dumps(config.get("quantization_config", {}))
    config = json.loads(text or "{}")
    groups = config.get("config_groups", {})
    bits = {group["weights"]["num_bits"] for group in groups.values()}
    for name, entry in parts.items():
        if name.endswith("_packed") and entry["dtype"] == "U8":
            stem = name[: -len("_packed")]
            yield stem, *from_fp4(stem, parts)
        elif name.endswith("_packed"):
            stem = name[: -len("_packed")]
            yield stem, *unpacked(stem, parts, bits.copy().pop())
        elif name.endswith(".qweight"):
            module = name[: -len(".qweight")]
            yield module + ".weight", *from_columns(module, parts, config)
        elif name + ".absmax" in parts:
            yield name, *from_table(name, parts)
        elif name + "_scale" in parts:
            yield name, *from_elements(name, parts)
        elif not name.endswith(PARTS):
            yield name, entry["shape"], plain(entry).astype(np.float32)


def main():
    path, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    tensors = from_gguf(path) if path.read_bytes()[:4] == b"GGUF" else from_safetensors(path)
    with open(folder / "index.txt", "w", encoding="utf-8") as index:
        for number, (name, shape, values) in enumerate(tensors):
            values.astype("<f4").tofile(folder / f"{number}.f32")
            index.write(f"{number}\t{'x'.join(str(n) for n in shape)}\t{name}\n")


main()
