"""Prints the numbers that WindowsTest.cpp and DrawnTensorTest.cpp expect,
from the definitions in Windows.h and DrawnTensor.h, written a second time."""

import math

MASK = 0xffffffff


def philox(counter, key):
    counter, key = list(counter), list(key)
    for _ in range(10):
        even, odd = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(odd >> 32) ^ counter[1] ^ key[0], odd & MASK,
                   (even >> 32) ^ counter[3] ^ key[1], even & MASK]
        key = [(key[0] + 0x9E3779B9) & MASK, (key[1] + 0xBB67AE85) & MASK]
    return counter


def halves(wide):
    return [wide & MASK, wide >> 32]


def epoch_order(size, seed, epoch):
    bits = 0
    while (1 << 2 * bits) < size:
        bits += 1
    mask = (1 << bits) - 1

    def permute(value):
        left, right = value >> bits, value & mask
        for i in range(8):
            word = philox([right, i] + halves(epoch), halves(seed))[0]
            left, right = right, left ^ (word & mask)
        return left << bits | right

    order = []
    for index in range(size):
        value = permute(index)
        while value >= size:
            value = permute(value)
        order.append(value)
    return order


def fnv1a(text):
    state = 0xcbf29ce484222325
    for byte in text.encode():
        state = (state ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return state


def drawn(seed, name, element, mean, deviation):
    bits = philox(halves(element) + halves(fnv1a(name)), halves(seed))
    unit = [((high << 32 | low) >> 11) * 2.0**-53
            for high, low in (bits[0:2], bits[2:4])]
    return mean + deviation * math.sqrt(-2 * math.log1p(-unit[0])) * \
        math.cos(2 * math.pi * unit[1])


if __name__ == "__main__":
    assert philox([0] * 4, [0] * 2) == [0x6627e8d5, 0xe169c58d,
                                        0xbc57ac4c, 0x9b00dbd8]
    for size, seed, epoch in ((1, 0, 0), (10, 0, 0), (10, 0, 1), (10, 7, 0),
                              (16, 1 << 40, 1 << 33), (37, 3, 2)):
        print(size, seed, epoch, epoch_order(size, seed, epoch))
    for seed, name, element in ((0, "wte.weight", 0), (0, "wte.weight", 1),
                                (1, "wte.weight", 0),
                                (0, "h.0.ln_1.weight", 0),
                                (1 << 40, "wte.weight", 1 << 33)):
        print(seed, name, element, repr(drawn(seed, name, element, 0, 1)))
