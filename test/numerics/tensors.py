"""Safetensors files of 64-bit and 32-bit numbers, without numpy."""

import array
import json
import os
import struct

FORMATS = {"F64": "d", "F32": "f", "I64": "q", "I32": "i"}


class Tensor:
    """A dtype as safetensors spells it, a shape, and the values in a row."""

    def __init__(self, dtype, shape, values):
        self.dtype, self.shape, self.values = dtype, list(shape), values

    def row(self, *index):
        """The values of the innermost dimension at `index`."""
        width = self.shape[-1]
        at = 0
        for size, i in zip(self.shape, index):
            at = at * size + i
        return self.values[at * width : (at + 1) * width]


def read(path):
    """All tensors of a file by name."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in FORMATS:
            continue
        begin, end = entry["data_offsets"]
        values = array.array(FORMATS[entry["dtype"]], data[begin:end])
        tensors[name] = Tensor(entry["dtype"], entry["shape"], values)
    return tensors


def readModel(folder):
    """All tensors of a folder's safetensors files."""
    found = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".safetensors"):
            found.update(read(os.path.join(folder, name)))
    return found


def write(path, tensors):
    """Writes a dictionary of tensors."""
    header, data = {}, b""
    for name, tensor in tensors.items():
        raw = array.array(FORMATS[tensor.dtype], tensor.values).tobytes()
        header[name] = {
            "dtype": tensor.dtype,
            "shape": tensor.shape,
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def distance(got, expected):
    """The largest |a - b| / (1 + |b|); infinite for NaN and other lengths."""
    if len(got) != len(expected):
        return float("inf")
    most = 0.0
    for a, b in zip(got, expected):
        d = abs(a - b) / (1 + abs(b))
        if not d <= most:
            most = d if d == d else float("inf")
    return most
