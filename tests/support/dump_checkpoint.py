# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a checkpoint with the Python packages gguf or safetensors and writes every weight as float32.

usage: dump_checkpoint.py FILE FOLDER

FOLDER gets one line a weight in index.txt (number, rows x columns as extents, name) and its values,
row-major, in NUMBER.f32. Weights in the pack-quantized layout of compressed-tensors are unpacked here from
the layout's description, without a line of Halftone's code. Exit code 77: a package is missing.
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


def plain(entry):
    """Values of one stored tensor; numpy knows no BF16."""
    kinds = {"F32": np.float32, "F16": np.float16, "I32": np.int32, "I64": np.int64, "I8": np.int8, "U8": np.uint8}
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


def from_safetensors(path):
    data = path.read_bytes()
    parts = dict(safetensors.deserialize(data))
    length = int.from_bytes(data[:8], "little")
    metadata = json.loads(data[8 : 8 + length]).get("__metadata__", {})
    text = metadata.get("quantization_config")
    if text is None and (path.parent / "config.json").exists():
        config = json.loads((path.parent / "config.json").read_text())
        text = json.dumps(config.get("quantization_config", {}))
    groups = json.loads(text or "{}").get("config_groups", {})
    bits = {group["weights"]["num_bits"] for group in groups.values()}
    for name, entry in parts.items():
        if name.endswith("_packed"):
            stem = name[: -len("_packed")]
            yield stem, *unpacked(stem, parts, bits.copy().pop())
        elif not name.endswith(("_scale", "_shape", "_zero_point")):
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
