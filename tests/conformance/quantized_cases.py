"""Calls of quantised ops, of quasi-random ones and of random casts, at the edge of what they accept and beyond it.

Each function returns the recorded calls of one op. Bad calls are recorded with TensorFlow's code.
"""

import numpy as np
import tensorflow as tf
from tensorflow.core.util.quantization import uniform_quant_ops_attr_pb2

from conformance import convolution_numbers
from conformance.recording import OpFile


def _quantized(values, dtype):
    return np.asarray(values).astype(tf.as_dtype(dtype).as_numpy_dtype)


def quantized_resize_bilinear():
    file = OpFile("QuantizedResizeBilinear")
    random = np.random.RandomState(5)
    images = {
        "quint8": random.randint(0, 256, (2, 4, 5, 3)),
        "qint32": random.randint(-(2**31), 2**31, (1, 3, 4, 2)),
        "float32": random.standard_normal((1, 3, 2, 1)),
    }

    def add(dtype, size, value=None, low=-1.0, high=2.0, **attrs):
        value = _quantized(images[dtype] if value is None else value, dtype)
        file.add(
            [value, np.array(size, np.int32), np.float32(low), np.float32(high)], T=dtype, **attrs
        )

    for dtype in images:
        for attrs in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
            for size in ([7, 3], [1, 1], [2, 9]):
                add(dtype, size, **attrs)
    add("quint8", [6, 6], align_corners=True, half_pixel_centers=True)
    add("qint32", [3, 4])  # unchanged, without the rounding to float
    add("qint32", [2, 3], value=np.full((1, 1, 2, 1), 2**31 - 1))
    add("quint8", [2, 3], low=3.0, high=-3.0)
    add("float32", [2, 2], value=np.array([np.nan, np.inf, 1, 2]).reshape(1, 1, 4, 1))
    add("quint8", [0, 3])
    add("quint8", [3, -1])
    add("quint8", [3])
    add("quint8", [3, 3], value=images["quint8"][0])
    add("quint8", [3, 3], value=images["quint8"][:, :0])
    add("quint8", [3, 3], value=images["quint8"][..., :0])
    return file


def sobol_sample():
    file = OpFile("SobolSample")

    def add(dim, count, skip, dtype):
        file.add([np.array(value, np.int32) for value in (dim, count, skip)], dtype=dtype)

    add(1, 1, 0, tf.float32)
    add(40, 20, 0, tf.double)
    add(3, 9, 2**28 + 12345, tf.float32)
    add(3, 9, 2**28 + 12345, tf.double)
    add(500, 3, 77777, tf.float32)
    add(0, 1, 0, tf.float32)
    add(1, 0, 0, tf.float32)
    add(1, 1, -1, tf.float32)
    add(1, 2**31 - 2, 1, tf.float32)
    add(21300, 1, 0, tf.float32)
    add([1], 1, 0, tf.float32)
    return file


def _dimension_numbers(lhs, rhs, output):
    return convolution_numbers.fill(
        uniform_quant_ops_attr_pb2.UniformQuantizedConvolutionDimensionNumbersAttr(), lhs, rhs, output
    )


# Attributes, and the shapes of both sides.
_CONVOLUTIONS = [
    ({"padding": "VALID"}, (2, 3, 5, 6), (4, 3, 2, 3)),
    ({"padding": "SAME"}, (2, 3, 5, 6), (4, 3, 2, 3)),
    ({"padding": "SAME", "window_strides": [2, 3]}, (1, 2, 5, 6), (2, 2, 3, 3)),
    ({"padding": "EXPLICIT", "explicit_padding": [0, 1, 2, 0]}, (1, 2, 3, 4), (2, 2, 2, 2)),
    ({"padding": "SAME", "lhs_dilation": [2, 1], "rhs_dilation": [1, 2]}, (1, 2, 3, 4), (2, 2, 2, 2)),
    ({"padding": "VALID", "feature_group_count": 2}, (1, 4, 3, 3), (6, 2, 2, 2)),
    ({"padding": "VALID", "batch_group_count": 2}, (4, 2, 3, 3), (6, 2, 2, 2)),
    ({"padding": "SAME"}, (2, 3, 5), (4, 3, 2)),
    ({"padding": "VALID"}, (1, 2, 3, 3, 3), (2, 2, 2, 2, 2)),
    (
        {"padding": "SAME", "dimension_numbers": _dimension_numbers("b01f", "01io", "b01f")},
        (2, 4, 5, 3),
        (2, 3, 3, 4),
    ),
    (
        {"padding": "VALID", "dimension_numbers": _dimension_numbers("f1b0", "i1o0", "0fb1")},
        (3, 4, 2, 5),
        (3, 2, 4, 3),
    ),
    ({"padding": "VALID"}, (0, 3, 5, 6), (4, 3, 2, 3)),
    ({"padding": "VALID"}, (1, 3, 1, 1), (4, 3, 2, 3)),
    ({"padding": "VALID"}, (1, 3), (4, 3)),
    ({"padding": "VALID"}, (1, 3, 4), (4, 3, 2, 2)),
    ({"padding": "VALID"}, (1, 3, 4, 4), (4, 2, 2, 2)),
    ({"padding": "VALID", "feature_group_count": 2}, (1, 3, 4, 4), (4, 3, 2, 2)),
    ({"padding": "VALID", "feature_group_count": 0}, (1, 3, 4, 4), (4, 3, 2, 2)),
    ({"padding": "VALID", "batch_group_count": 3}, (4, 3, 4, 4), (4, 3, 2, 2)),
    ({"padding": "VALID", "window_strides": [1]}, (1, 3, 4, 4), (4, 3, 2, 2)),
    ({"padding": "VALID", "window_strides": [0, 1]}, (1, 3, 4, 4), (4, 3, 2, 2)),
    ({"padding": "VALID", "lhs_dilation": [0, 1]}, (1, 3, 4, 4), (4, 3, 2, 2)),
    ({"padding": "EXPLICIT", "explicit_padding": [0, 1, -1, 0]}, (1, 2, 3, 4), (2, 2, 2, 2)),
    ({"padding": "EXPLICIT", "explicit_padding": [0, 1]}, (1, 2, 3, 4), (2, 2, 2, 2)),
    ({"padding": "VALID", "explicit_padding": [0, 1, 0, 0]}, (1, 2, 3, 4), (2, 2, 2, 2)),
    ({"padding": "OTHER"}, (1, 2, 3, 4), (2, 2, 2, 2)),
]



def uniform_quantized_convolution(op):
    file = OpFile(op)
    random = np.random.RandomState(6)
    is_hybrid = op.endswith("Hybrid")

    def add(attrs, lhs, rhs, axis=-1, out_axis=-1, **changes):
        count = rhs[axis] if axis >= 0 else 0
        lhs = random.standard_normal(lhs) if is_hybrid else random.randint(-128, 128, lhs)
        scales = random.uniform(0.01, 0.4, count) if count else 0.2
        zeros = random.randint(-9, 9, count) if count else 3
        inputs = {
            "lhs": lhs.astype(np.float32) if is_hybrid else _quantized(lhs, tf.qint8),
            "rhs": _quantized(random.randint(-128, 128, rhs), tf.qint8),
            "rhs_scales": np.array(scales, np.float32),
            "rhs_zero_points": np.array(zeros, np.int32),
        }
        attrs = {"rhs_quantization_axis": axis, **attrs}
        ranges = {"rhs_quantization": (-128, 127)}
        if not is_hybrid:
            ranges.update(lhs_quantization=(-128, 127), output_quantization=(-30000, 30000))
            attrs["output_quantization_axis"] = out_axis
            own = out_axis >= 0 and count
            inputs["lhs_scales"] = np.float32(0.3)
            inputs["lhs_zero_points"] = np.int32(-5)
            inputs["output_scales"] = np.full(count, 0.7, np.float32) if own else np.float32(0.7)
            inputs["output_zero_points"] = np.arange(count, dtype=np.int32) if own else np.int32(9)
        for prefix, (low, high) in ranges.items():
            attrs[f"{prefix}_min_val"], attrs[f"{prefix}_max_val"] = low, high
        inputs.update(changes)
        types = {"Tlhs": tf.float32, "Trhs": tf.qint8, "Tout": tf.float32}
        if not is_hybrid:
            types = {"Tin": tf.qint8, "Tout": tf.qint32}
        order = ["lhs", "rhs", "rhs_scales", "rhs_zero_points"]
        if not is_hybrid:
            order[2:2] = ["lhs_scales", "lhs_zero_points"]
            order += ["output_scales", "output_zero_points"]
        file.add([inputs[name] for name in order], **types, **attrs)

    for attrs, lhs, rhs in _CONVOLUTIONS:
        add(attrs, lhs, rhs)
    for attrs, lhs, rhs in _CONVOLUTIONS[:3]:
        add(attrs, lhs, rhs, axis=0)
        add(attrs, lhs, rhs, axis=0, out_axis=1)
    valid = _CONVOLUTIONS[0]
    add(*valid, axis=1)
    add(*valid, out_axis=1)
    add(*valid, rhs_scales=np.float32(0))
    add(*valid, rhs_scales=np.float32([1, 1]))
    return file


def stochastic_cast_to_int():
    file = OpFile("StochasticCastToInt")
    edges = [0.1, 0.5, 1.5, -2.3, 300, -1e6, np.nan, np.inf, -np.inf, -0.5, 2.7, 127, 40000, -0.0]

    def add(values, source, target, key=(12,), counter=(3, 4), alg=1):
        values = np.asarray(values).astype(source.as_numpy_dtype)
        words = [np.array(words, np.uint64) for words in (key, counter)]
        file.add([values, *words, np.int32(alg)], Tin=source, Tout=target)

    for source in (tf.half, tf.bfloat16, tf.float32, tf.float64):
        for target in (tf.int8, tf.int16, tf.int32):
            add(edges, source, target)
            add(np.random.RandomState(7).standard_normal([7, 5]) * 9, source, target)
    add(0.5, tf.float32, tf.int32)
    add(np.zeros([2, 0]), tf.float32, tf.int32)
    add(edges, tf.float32, tf.int32, key=(2**63 + 5,), counter=(2**64 - 1, 0, 9), alg=3)
    add(edges, tf.float32, tf.int32, alg=2)
    add(edges, tf.float32, tf.int32, alg=9)
    add(edges, tf.float32, tf.int32, key=(1, 2))
    add(edges, tf.float32, tf.int32, counter=(1,))
    return file


def record(directory):
    """Writes the files of all ops, and returns their paths."""
    files = [
        quantized_resize_bilinear(),
        sobol_sample(),
        stochastic_cast_to_int(),
        uniform_quantized_convolution("UniformQuantizedConvolution"),
        uniform_quantized_convolution("UniformQuantizedConvolutionHybrid"),
    ]
    return [file.write(directory) for file in files]
