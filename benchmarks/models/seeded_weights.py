"""Weights of the models in gpu_models.py, in NumPy alone: any machine makes the same ones.

A spec is [path, shape, dtype] of a variable of Keras, in the order of the model's weights.
"""
import math

import numpy as np


def make(specs):
    """Arrays of float32 by path."""
    return {path: weight(number, path, shape) for number, (path, shape, _) in enumerate(specs)}


def weight(number, path, shape):
    """The values of the weight of this number, of a scale that keeps what passes the layers finite."""
    noise = np.random.default_rng(number).standard_normal(tuple(shape), np.float32)
    role = path.split("/")[-1]
    if role in ("kernel", "embeddings"):
        # [in, out...] of EinsumDense, [in..., out] of everything else.
        splits_heads = len(shape) == 3 and "attention_output" not in path
        rows = shape[0] if splits_heads else math.prod(shape[:-1])
        return noise * np.float32(rows**-0.5 if role == "kernel" else 0.05)
    # Scales and variances are about 1, biases and means about 0.
    about_one = role in ("gamma", "scale", "moving_variance")
    return noise * np.float32(0.05) + np.float32(1 if about_one else 0)


def bfloat16_bits(array):
    """Finite numbers rounded to the nearest of bfloat16, ties to even, as its bits."""
    bits = array.view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def stored(specs, values):
    """What the variables hold: the arrays in their dtypes."""
    return {path: bfloat16_bits(values[path]) if dtype == "bfloat16" else values[path].astype(dtype, copy=False)
            for path, _, dtype in specs}
