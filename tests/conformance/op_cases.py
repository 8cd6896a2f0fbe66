"""Calls of ops that the shared corpus lacks; tests/data/record lets TensorFlow answer them.

Each function records the calls of one file: what an op computes at the edge of what it accepts, and
what it refuses.
"""

import itertools

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import summary_pb2

from conformance.recording import OpFile


def _normal(seed, *shape):
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


def max_pool():
    """Windows over channels, which TensorFlow allows alone and where they part all channels."""
    file = OpFile("MaxPool")
    images = _normal(1, 2, 2, 3, 6)

    def add(ksize, strides, padding="VALID", value=images, **attrs):
        file.add(
            [value],
            T=tf.as_dtype(value.dtype),
            ksize=ksize,
            strides=strides,
            padding=padding,
            **attrs,
        )

    for window, padding in itertools.product((2, 3, 6), ("VALID", "SAME")):
        add([1, 1, 1, window], [1, 1, 1, window], padding)
    add([1, 1, 1, 2], [1, 2, 2, 2])  # strides over points are ignored
    add([1, 1, 1, 1], [1, 1, 1, 2])  # and so is that over channels without a window
    for dtype in (
        "half",
        "bfloat16",
        "float64",
        "int64",
        "int32",
        "int16",
        "uint16",
        "int8",
        "uint8",
    ):
        add(
            [1, 1, 1, 3],
            [1, 1, 1, 3],
            value=(40 + 9 * images).astype(tf.as_dtype(dtype).as_numpy_dtype),
        )
    nan = np.array([[[[np.nan, 1, 2, np.nan, np.nan, np.nan]]]], np.float32)
    add([1, 1, 1, 2], [1, 1, 1, 2], value=nan)
    add([1, 1, 1, 2], [1, 1, 1, 2], value=images[:0])
    add([1, 1, 1, 2], [1, 1, 1, 2], value=images[..., :0])

    add([1, 1, 1, 4], [1, 1, 1, 4])
    add([1, 1, 1, 4], [1, 1, 1, 4], "SAME")
    add([1, 1, 1, 7], [1, 1, 1, 7])
    add([1, 1, 1, 2], [1, 1, 1, 1])
    add([1, 1, 1, 2], [1, 1, 1, 3])
    add([1, 2, 1, 2], [1, 1, 1, 2])
    add([1, 2, 2, 2], [1, 2, 2, 2])
    add([2, 1, 1, 1], [1, 1, 1, 1])
    add([1, 1, 1, 1], [2, 1, 1, 1])
    add([1, 1, 1, 2], [1, 1, 1, 2], "EXPLICIT", explicit_paddings=[0] * 8)
    add([1, 2, 2, 1], [1, 1, 1, 1], "EXPLICIT", explicit_paddings=[0, 0, 2, 2, 0, 0, 0, 0])
    add([1, 2, 2, 1], [1, 1, 1, 1], "EXPLICIT", explicit_paddings=[0, 0, 1, 1, -1, 0, 0, 0])
    add([1, 2, 2, 1], [1, 1, 1, 1], "EXPLICIT", explicit_paddings=[0, 0, 1, 1, 0, 0, 1, 0])
    add([1, 2, 2, 1], [1, 1, 1, 1], "EXPLICIT", explicit_paddings=[0] * 6)
    add([1, 2, 2, 1], [1, 1, 1, 1], explicit_paddings=[0, 0, 1, 1, 0, 0, 0, 0])
    add([1, 0, 1, 1], [1, 1, 1, 1])
    add([1, 1, 1, 0], [1, 1, 1, 1])
    add([1, 1, 1, 1], [1, 0, 1, 1])
    add([1, 1, 1, 1], [1, 1, 1, 0])
    add([1, 1, 1, 2], [1, 1, 1, 2], value=images[0])
    add([1, 5, 1, 1], [1, 1, 1, 1])
    return file


def max_pool_v2():
    """The same with the window as an input."""
    file = OpFile("MaxPoolV2")
    images = _normal(2, 2, 2, 3, 6)

    def add(ksize, strides, padding="VALID"):
        sizes = [np.array(ksize, np.int32), np.array(strides, np.int32)]
        file.add([images, *sizes], T=tf.float32, padding=padding)

    add([1, 1, 1, 2], [1, 1, 1, 2])
    add([1, 1, 1, 3], [1, 2, 1, 3], "SAME")
    add([1, 1, 1, 1], [1, 1, 1, 2])
    add([1, 1, 1, 2], [1, 1, 1, 3])
    add([1, 1, 1, 4], [1, 1, 1, 4])
    add([1, 2, 1, 2], [1, 1, 1, 2])
    add([2, 1, 1, 1], [1, 1, 1, 1])
    add([1, 1, 1, 1], [2, 1, 1, 1])
    add([1, 1, 1], [1, 1, 1, 1])
    add([1, 1, 1, 1], [1, 1, 1])
    add([1, 0, 1, 1], [1, 1, 1, 1])
    add([1, 1, 1, 1], [1, 0, 1, 1])
    return file


def depthwise_convolution():
    """What DepthwiseConv2dNative refuses, and empty filters, which it takes."""
    file = OpFile("DepthwiseConv2dNative")
    images, filters = _normal(3, 1, 5, 6, 4), _normal(4, 3, 3, 4, 2)

    def add(strides, padding="VALID", value=images, by=filters, **attrs):
        file.add([value, by], T=tf.float32, strides=strides, padding=padding, **attrs)

    one = [1, 1, 1, 1]
    add([1, 3, 3, 1], "SAME")
    add(one, "EXPLICIT", explicit_paddings=[0, 0, 1, 0, 0, 2, 0, 0])
    add(one, "EXPLICIT", explicit_paddings=[0, 0, 3, 3, 4, 4, 0, 0])
    add(one, value=images[:, :2])
    add(one, by=filters[..., :0])
    add(one, value=images[..., :0], by=filters[:, :, :0])
    add(one, by=filters[:0])
    add(one, "SAME", by=filters[:0])
    add(one, "SAME", value=images[:, :0])

    add([1, 1, 2, 1])
    add([1, 2, 1, 1], "SAME")
    add([2, 1, 1, 1])
    add([1, 1, 1, 2])
    add([1, 0, 0, 1])
    add([1, -1, -1, 1])
    add([1, 1, 1])
    for dilations in (
        [1, 2, 2, 1],
        [1, 2, 1, 1],
        [2, 1, 1, 1],
        [1, 1, 1, 2],
        [1, 0, 0, 1],
        [1, 1, 1],
        [],
    ):
        add(one, dilations=dilations)
    for paddings in ([], [0] * 6, [0, 0, -1, 0, 0, 0, 0, 0], [1] + [0] * 7, [0] * 6 + [1, 0]):
        add(one, "EXPLICIT", explicit_paddings=paddings)
    add(one, explicit_paddings=[0, 0, 1, 1, 1, 1, 0, 0])
    add(one, value=images[0])
    add(one, by=filters[0])
    add(one, by=filters[:, :, :3])
    add(one, value=images[..., :3])
    add(one, by=filters[:, :, :0])
    add(one, value=images[:, :1])
    add(one, value=images[:, :0])
    return file


def depthwise_gradients():
    """What the gradients refuse."""
    files = [
        OpFile("DepthwiseConv2dNativeBackpropInput"),
        OpFile("DepthwiseConv2dNativeBackpropFilter"),
    ]
    images, filters = _normal(5, 1, 5, 6, 4), _normal(6, 3, 3, 4, 2)
    gradient = _normal(7, 1, 3, 4, 8)
    inputs = [
        [np.array(images.shape, np.int32), filters, gradient],
        [images, np.array(filters.shape, np.int32), gradient],
    ]
    for file, values in zip(files, inputs):
        for strides in (
            [1, 2, 1, 1],
            [1, 1, 1, 2],
            [2, 1, 1, 1],
            [1, 2, 2, 1],
            [1, 1, 1],
            [1, 0, 0, 1],
        ):
            file.add(values, T=tf.float32, strides=strides, padding="VALID")
    return files


def fused_convolution():
    """Batch norms fused into convolutions, as TensorFlow's remapper writes them."""
    file = OpFile("_FusedConv2D")
    images, filters = _normal(8, 2, 5, 6, 4), _normal(9, 3, 3, 4, 5)
    scale, offset, mean = _normal(10, 5), _normal(11, 5), _normal(12, 5)
    variance = np.abs(_normal(13, 5)) + np.float32(0.1)
    norm = [scale, offset, mean, variance]

    def add(args, fused_ops, **attrs):
        attrs = {
            "strides": [1, 1, 1, 1],
            "padding": "SAME",
            "epsilon": 1e-3,
            "TArgs": [value.dtype for value in args],
            **attrs,
        }
        inputs = [images, filters, *args]
        file.add(
            inputs,
            rtol=1e-4,
            atol=1e-4,
            T=tf.float32,
            num_args=len(args),
            fused_ops=fused_ops,
            **attrs,
        )

    add(norm, ["FusedBatchNorm"])
    for activation in ("Relu", "Relu6", "Elu", "LeakyRelu"):
        add(norm, ["FusedBatchNorm", activation], leakyrelu_alpha=0.3)
    add(norm, ["FusedBatchNorm", "Relu"], strides=[1, 2, 2, 1], padding="VALID")
    add(norm, ["FusedBatchNorm"], dilations=[1, 2, 2, 1], padding="VALID")
    add(norm, ["FusedBatchNorm"], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0])
    add(norm, ["FusedBatchNorm"], epsilon=0.0)
    add([scale, offset, mean, -variance], ["FusedBatchNorm"])  # the root of a negative number
    infinite = np.array([1, np.inf, 1, 0, 1], np.float32)
    add([scale, offset, mean, infinite], ["FusedBatchNorm", "Relu6"], epsilon=0.0)

    add(norm[:3], ["FusedBatchNorm"])
    add(norm + [offset], ["FusedBatchNorm"])
    add([scale, offset, mean, variance[None]], ["FusedBatchNorm"])
    add(norm, ["FusedBatchNormV3"])
    add(norm, ["BiasAdd", "FusedBatchNorm"])
    add(norm, ["Relu", "FusedBatchNorm"])
    return file


def quantize():
    """Rounding to every quantised dtype, and to those that float cannot hold above all."""
    file = OpFile("QuantizeV2")
    ties = np.arange(-12.5, 13, 0.5, np.float32)
    values = np.concatenate([ties, [-1e9, -3.1415927, -1e-9, 1e-9, 0.3, 9.99999, 10, 1e9]]).astype(
        np.float32
    )
    modes = [
        ("MIN_COMBINED", "HALF_AWAY_FROM_ZERO"),
        ("MIN_FIRST", "HALF_AWAY_FROM_ZERO"),
        ("SCALED", "HALF_AWAY_FROM_ZERO"),
        ("SCALED", "HALF_TO_EVEN"),
    ]
    ranges = [(-10, 10), (0, 10), (-10, 0), (-3, 7), (0, 0), (5, 10), (-1e-6, 2e-6)]
    for dtype in (tf.qint32, tf.qint16, tf.quint16, tf.qint8, tf.quint8):
        for (mode, round_mode), (low, high) in itertools.product(modes, ranges):
            file.add(
                [values, np.float32(low), np.float32(high)],
                T=dtype,
                mode=mode,
                round_mode=round_mode,
            )
    for narrow in (False, True):
        file.add(
            [values, np.float32(-10), np.float32(10)],
            T=tf.qint32,
            mode="SCALED",
            narrow_range=narrow,
        )
    many = _normal(14, 4, 8) * 5
    file.add(
        [many, np.full(4, -8, np.float32), np.arange(4, 8, dtype=np.float32)],
        T=tf.qint32,
        mode="SCALED",
        axis=0,
    )
    for mode in ("MIN_COMBINED", "MIN_FIRST"):
        file.add(
            [values, np.float32(-10), np.float32(10)],
            T=tf.qint32,
            mode=mode,
            round_mode="HALF_TO_EVEN",
        )
    # The range of a single slice is made of scalars.
    for axis in (0, 1):
        ends = [np.full((1, 3)[axis], end, np.float32) for end in (-10, 7)]
        file.add([values[None, :3], *ends], T=tf.qint8, mode="SCALED", axis=axis)
    return file


def log1p():
    """Complex numbers at the branch point, on the cut and at infinity."""
    file = OpFile("Log1p")
    parts = [-1, -1.5, -0.5, 0, -0.0, 1, np.inf, -np.inf, np.nan, -1 - 1e-7, -1 + 1e-7, 3e19, 1e-12]
    heights = [0, -0.0, 1e-8, -1e-8, 1e-20, 1, np.inf, -np.inf, np.nan]
    values = np.array([complex(a, b) for a, b in itertools.product(parts, heights)])
    for dtype in (np.complex64, np.complex128):
        file.add([values.astype(dtype)], T=dtype)
    return file


def reductions():
    """Axes given as a matrix, which count like a vector."""
    files = [OpFile("Sum"), OpFile("Max"), OpFile("Mean")]
    values = _normal(15, 2, 3, 4)
    for file in files:
        for axes in ([[0, 1]], [[2], [0]], [[[1]]], [[0, 1], [2, -1]], [[0, 0]], [[3]]):
            for keep_dims in (False, True):
                file.add([values, np.array(axes, np.int32)], T=tf.float32, keep_dims=keep_dims)
    _add_means(files[-1])
    return files


def _add_means(file):
    """Sums of narrow integers that their type does not hold, and means of nothing."""
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32):
        limits = np.iinfo(dtype)
        numbers = np.array([[limits.max] * 3, [limits.min, limits.min, limits.max]], dtype)
        for axes in ([0], [1], [0, 1]):
            file.add([numbers, np.array(axes, np.int32)], T=dtype)
    for dtype in (np.int32, np.float32, np.complex64, np.complex128):
        file.add([np.zeros((2, 0), dtype), np.array([1], np.int32)], T=dtype)


def gather():
    """Indices out of range do not matter where nothing is gathered."""
    file = OpFile("GatherV2")

    def add(shape, indices, axis, batch_dims=0):
        file.add(
            [np.ones(shape, np.float32), np.array(indices, np.int32), np.int32(axis)],
            Tparams=tf.float32,
            Tindices=tf.int32,
            Taxis=tf.int32,
            batch_dims=batch_dims,
        )

    add([3, 0], [5], 0)
    add([0, 3], [5], 1)
    add([0, 3, 2], [-1], 1)
    add([2, 3, 0], [[5], [0]], 1, 1)
    add([0, 3], [5], 0)
    add([3, 2], [3], 0)
    return file


def histogram_summary():
    """Histograms of values in the same bucket, in many, of both signs, and of none."""
    file = OpFile("HistogramSummary")

    def add(values, tag="h"):
        file.add([np.array(tag), values], T=tf.as_dtype(values.dtype))

    add(_normal(12, 50))
    add(np.array([0, 0, 1e-13, -1e-13, 1, 1, -1e21, 1e21], np.float64))
    add(np.array([[1, 2], [3, -4]], np.int32))
    add(np.array([7, 7, 200], np.uint8))
    add(np.array([0.5], np.float16))
    add(np.zeros([0], np.float32))
    add(np.float32(3))
    add(np.array([1, np.nan], np.float32))
    add(np.array([1, np.inf], np.float32))
    add(np.ones([2], np.float32), tag=["h"])
    return file


def merge_summary():
    """Summaries with values of several kinds, and with a tag twice."""
    file = OpFile("MergeSummary")

    def scalar(tag, value):
        summary = summary_pb2.Summary()
        summary.value.add(tag=tag, simple_value=value)
        return summary.SerializeToString()

    def add(*inputs):
        file.add([np.array(value) for value in inputs], N=len(inputs))

    add(scalar("a", 1))
    add(scalar("a", 1), scalar("b", 2))
    add([scalar("a", 1), scalar("b", 2)], scalar("c", 3))
    add(scalar("a", 1), scalar("a", 2))
    add(b"\xff\xff")
    return file


def record(directory):
    """Records all files of this module below DIRECTORY and returns their paths."""
    files = [
        max_pool(),
        max_pool_v2(),
        depthwise_convolution(),
        *depthwise_gradients(),
        fused_convolution(),
        quantize(),
        log1p(),
        *reductions(),
        gather(),
        histogram_summary(),
        merge_summary(),
    ]
    return [file.write(directory) for file in files]
