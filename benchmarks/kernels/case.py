"""A kernel that scripts/bench ops measures, and the values that it is given."""

import dataclasses
from typing import Callable

import numpy as np


@dataclasses.dataclass
class Case:
    """`make` gets a tensor for each of `inputs`, functions of a random generator that make arrays,
    and returns tensors, sparse or ragged ones among them. `tolerance` is that of floats, relative to
    the largest value; infinite where only dtypes and shapes are compared."""

    name: str
    make: Callable
    inputs: list
    tolerance: float = 1e-4


def floats(*shape):
    return lambda rng: rng.standard_normal(shape, dtype=np.float32)


def doubles(*shape):
    return lambda rng: rng.standard_normal(shape)


def uniform(low, high, *shape):
    return lambda rng: rng.uniform(low, high, shape).astype(np.float32)


def integers(high, *shape, dtype=np.int32):
    return lambda rng: rng.integers(0, high, shape, dtype=dtype)


def sorted_integers(high, count, dtype=np.int32):
    return lambda rng: np.sort(rng.integers(0, high, count, dtype=dtype))


def booleans(share, *shape):
    return lambda rng: rng.random(shape) < share


def bfloat16s(*shape):
    import ml_dtypes

    return lambda rng: rng.standard_normal(shape, dtype=np.float32).astype(ml_dtypes.bfloat16)


def fixed(value, dtype=None):
    return lambda rng: np.array(value, dtype)


def strings(make, count):
    """`count` strings made by `make(rng)`."""
    return lambda rng: np.array([make(rng) for _ in range(count)], object)


def words(count, vocabulary=20000):
    return strings(lambda rng: b"word%d" % rng.integers(vocabulary), count)


def texts(count, length):
    """Texts of `length` words each."""
    return strings(lambda rng: b" ".join(b"word%d" % n for n in rng.integers(20000, size=length)),
                   count)


def weight(*shape, scale=0.05, dtype=None):
    """A constant of the model, which is there before anything runs. The copies of a kernel in one
    graph share it: TensorFlow merges equal constants of any size, and would read less memory."""
    import tensorflow as tf

    made = tf.compat.v1.get_collection_ref("weights")
    if not made:
        made.append({})
    key = shape, scale, dtype
    if key not in made[0]:
        values = np.random.default_rng(7).standard_normal(shape, dtype=np.float32) * scale
        values = values.astype(tf.as_dtype(dtype).as_numpy_dtype) if dtype else values
        with tf.control_dependencies(None):
            made[0][key] = tf.constant(values)
    return made[0][key]
