"""GGUF's block types: random blocks, and the values that their definitions
give. Values of K types lie in super-blocks of 256, the others in 32s."""

import struct

# Type: its number, values a block, bytes a block.
TYPES = {
    "Q4_0": (2, 32, 18),
    "Q4_1": (3, 32, 20),
    "Q5_0": (6, 32, 22),
    "Q5_1": (7, 32, 24),
    "Q8_0": (8, 32, 34),
    "Q4_K": (12, 256, 144),
    "Q5_K": (13, 256, 176),
    "Q6_K": (14, 256, 210),
}
# Where a block keeps its half-precision scales.
SCALES = {"Q4_1": [0, 2], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2],
          "Q6_K": [208]}


def half(block, at):
    return struct.unpack_from("<e", block, at)[0]


def nibble(byte, high):
    return byte >> 4 if high else byte & 15


def small(kind, block):
    """Value j is in the low half of byte j, value j + 16 in the high one."""
    five, minimum = kind.startswith("Q5"), kind.endswith("_1")
    at = 4 if minimum else 2
    fifth = int.from_bytes(block[at : at + 4], "little") if five else 0
    at += 4 if five else 0
    d, m = half(block, 0), half(block, 2) if minimum else 0
    zero = 0 if minimum else 16 if five else 8
    values = []
    for j in range(32):
        q = nibble(block[at + j % 16], j >= 16) + (fifth >> j & 1) * 16
        values.append((q - zero) * d + m)
    return values


def scalesOfEight(packed):
    """Eight six-bit scales and eight minima in twelve bytes."""
    scales = [b & 63 for b in packed[0:4]]
    minima = [b & 63 for b in packed[4:8]]
    for j in range(4):
        scales.append(packed[8 + j] & 15 | packed[j] >> 6 << 4)
        minima.append(packed[8 + j] >> 4 | packed[4 + j] >> 6 << 4)
    return scales, minima


def k45(kind, block):
    five = kind == "Q5_K"
    scales, minima = scalesOfEight(block[4:16])
    low = 48 if five else 16
    values = []
    for i in range(256):
        group, j = divmod(i, 32)
        q = nibble(block[low + group // 2 * 32 + j], group % 2)
        if five:
            q += (block[16 + j] >> group & 1) * 16
        values.append(half(block, 0) * scales[group] * q
                      - half(block, 2) * minima[group])
    return values


def k6(block):
    values = []
    for i in range(256):
        part, within = divmod(i, 128)
        low = nibble(block[64 * part + within % 64], within >= 64)
        high = block[128 + 32 * part + within % 32] >> within // 32 * 2 & 3
        scale = struct.unpack_from("b", block, 192 + i // 16)[0]
        values.append(half(block, 208) * scale * (low + 16 * high - 32))
    return values


def valuesOf(kind, block):
    if kind == "Q8_0":
        return [half(block, 0) * x for x in struct.unpack_from("32b", block, 2)]
    if kind == "Q6_K":
        return k6(block)
    return k45(kind, block) if kind.endswith("K") else small(kind, block)


def randomBlock(kind, draw):
    """Any bytes make a block; scales keep its values near 0.1."""
    block = bytearray(draw.getrandbits(8) for _ in range(TYPES[kind][2]))
    size = 0.0002 if kind.endswith("K") else 0.01
    for at in SCALES.get(kind, [0]):
        struct.pack_into("<e", block, at, size * draw.uniform(0.5, 1.5))
    return bytes(block)


def randomTensor(kind, rows, columns, draw):
    """The bytes of rows x columns values, and the values."""
    data, values = b"", []
    for _ in range(rows * columns // TYPES[kind][1]):
        block = randomBlock(kind, draw)
        data += block
        values += valuesOf(kind, block)
    return data, values
