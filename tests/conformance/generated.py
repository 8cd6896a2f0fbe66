"""Tensors that both sides compute from a seed, so that large cases need small files.

Element i of the tensor with seed s comes from the counter z = s * 0x9E3779B97F4A7C15 + i (modulo
2^64), mixed as in SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
generators", 2014). With m, the mixed 64 bits:

    real numbers   offset + scale * u, where u = (m >> 40) / 2^23 - 1 is in [-1, 1)
    integers       (m >> 40) modulo limit
    signs          +1 if the highest bit of m is 0, else -1

Products and sums are made in float64 and rounded to float32 once. tests/conformance/generated.h
computes the same numbers in C++.
"""

import numpy as np

_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def _mixed(seed, count):
    with np.errstate(over="ignore"):
        z = np.uint64(seed) * _INCREMENT + np.arange(count, dtype=np.uint64)
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
        return z ^ (z >> np.uint64(31))


def reals(seed, shape, offset, scale):
    """A float32 tensor."""
    u = (_mixed(seed, int(np.prod(shape))) >> np.uint64(40)).astype(np.float64) / 2**23 - 1
    return (np.float64(offset) + np.float64(scale) * u).astype(np.float32).reshape(shape)


def integers(seed, shape, limit):
    """An int32 tensor of numbers in [0, limit)."""
    top = _mixed(seed, int(np.prod(shape))) >> np.uint64(40)
    return (top % np.uint64(limit)).astype(np.int32).reshape(shape)


def signs(seed, count):
    """A vector of +1.0 and -1.0."""
    return np.where(_mixed(seed, count) >> np.uint64(63) == 0, 1.0, -1.0)
