"""Calls of XLA's ops, which XLA itself computes.

Each function returns the recorded calls of one op. Bad calls are recorded with TensorFlow's code.
"""

import numpy as np
import tensorflow as tf
from tensorflow.compiler.xla import xla_data_pb2

from conformance import convolution_numbers
from conformance.recording import OpFile

_BFLOAT16 = tf.bfloat16.as_numpy_dtype


def _random(seed, shape, dtype):
    random = np.random.RandomState(seed)
    if np.issubdtype(dtype, np.integer):
        low, high = (0, 200) if np.dtype(dtype).kind == "u" else (-120, 120)
        return random.randint(low, high, shape).astype(dtype)
    values = random.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * random.standard_normal(shape)
    return values.astype(dtype)


def _dot_numbers(contracting, batch=((), ())):
    numbers = xla_data_pb2.DotDimensionNumbers()
    numbers.lhs_contracting_dimensions.extend(contracting[0])
    numbers.rhs_contracting_dimensions.extend(contracting[1])
    numbers.lhs_batch_dimensions.extend(batch[0])
    numbers.rhs_batch_dimensions.extend(batch[1])
    return numbers.SerializeToString().decode("latin-1")


# The shapes of both sides, contracting dimensions and batch dimensions.
_DOTS = [
    ((3, 4), (4, 5), ((1,), (0,)), ((), ())),
    ((4,), (4,), ((0,), (0,)), ((), ())),
    ((2, 3), (4,), ((), ()), ((), ())),
    ((2, 3, 4), (4, 2, 5), ((2,), (0,)), ((0,), (1,))),
    ((2, 3, 4), (3, 4, 2), ((1, 2), (0, 1)), ((), ())),
    ((2, 3, 4), (3, 2, 4), ((), ()), ((0, 1), (1, 0))),
    ((2, 0), (0, 3), ((1,), (0,)), ((), ())),
]


def xla_dot():
    file = OpFile("XlaDot", compiled=True)

    def add(lhs, rhs, contracting, batch, dtype=np.float32):
        values = [_random(1, lhs, dtype), _random(2, rhs, dtype)]
        numbers = _dot_numbers(contracting, batch)
        file.add(values, T=dtype, dimension_numbers=numbers, precision_config="")

    for case in _DOTS:
        add(*case)
    for dtype in (np.float64, np.int32, np.uint8, np.complex64, np.float16, _BFLOAT16):
        add(*_DOTS[3], dtype=dtype)
    add((3, 4), (5, 4), ((1,), (0,)), ((), ()))
    return file


def xla_dot_v2():
    file = OpFile("XlaDotV2", compiled=True)
    for lhs, rhs, out in (
        (np.float32, np.float32, np.float32),
        (np.int8, np.int8, np.int32),
        (_BFLOAT16, _BFLOAT16, np.float32),
    ):
        shapes = _DOTS[3]
        file.add(
            [_random(1, shapes[0], lhs), _random(2, shapes[1], rhs)],
            LhsT=lhs,
            RhsT=rhs,
            preferred_element_type=out,
            dimension_numbers=_dot_numbers(*shapes[2:]),
            precision_config="",
        )
    return file


def _convolution_numbers(lhs, rhs, output):
    return convolution_numbers.fill(
        xla_data_pb2.ConvolutionDimensionNumbers(), lhs, rhs, output
    )


def xla_conv(op):
    file = OpFile(op, compiled=True)
    is_second = op.endswith("V2")

    def add(
        lhs,
        rhs,
        strides=(1, 1),
        padding=((0, 0), (0, 0)),
        lhs_dilation=(1, 1),
        rhs_dilation=(1, 1),
        groups=1,
        layout=("b01f", "01io", "b01f"),
        dtype=np.float32,
        out=None,
        **attrs,
    ):
        rank = len(lhs) - 2
        sizes = [np.array(v[:rank], np.int32) for v in (strides, padding, lhs_dilation, rhs_dilation)]
        types = {"T": dtype}
        if is_second:
            types = {"LhsT": dtype, "RhsT": dtype, "preferred_element_type": out or dtype}
        file.add(
            [_random(3, lhs, dtype), _random(4, rhs, dtype), *sizes, np.int32(groups)],
            dimension_numbers=_convolution_numbers(*layout),
            precision_config="",
            Tindices=tf.int32,
            **types,
            **attrs,
        )

    add((2, 4, 5, 3), (2, 3, 3, 4))
    add((1, 4, 5, 2), (2, 3, 2, 3), strides=(2, 1), padding=((1, 0), (2, 1)))
    add((1, 4, 5, 2), (2, 2, 2, 3), padding=((-1, 1), (0, -2)))
    add((1, 3, 4, 2), (3, 2, 2, 2), lhs_dilation=(2, 3), padding=((1, 1), (1, 1)))
    add((1, 6, 5, 2), (2, 2, 2, 2), rhs_dilation=(3, 2))
    add((1, 4, 4, 4), (2, 2, 2, 6), groups=2)
    add((2, 3, 4, 5), (4, 3, 2, 2), layout=("bf01", "oi01", "bf01"))
    add((3, 2, 5), (2, 2, 4), layout=("bf0", "0io", "fb0"))
    add((1, 4, 5, 2), (2, 2, 2, 3), dtype=np.float64)
    add((1, 4, 5, 2), (5, 2, 2, 3))
    if is_second:
        add((4, 3, 3, 2), (2, 2, 2, 6), batch_group_count=2)
        add((1, 4, 5, 2), (2, 2, 2, 3), dtype=np.int8, out=np.int32)
    return file


def xla_einsum():
    file = OpFile("XlaEinsum", compiled=True)
    for equation, lhs, rhs in (
        ("ab,bc->ac", (2, 3), (3, 4)),
        ("abc,acd->abd", (2, 3, 4), (2, 4, 5)),
        ("ab,cd->abcd", (2, 3), (1, 2)),
    ):
        for dtype in (np.float32, np.complex64, _BFLOAT16):
            file.add([_random(5, lhs, dtype), _random(6, rhs, dtype)], T=dtype, equation=equation)
    return file


def xla_reduce_precision():
    file = OpFile("XlaReducePrecision", compiled=True)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-4, 65504, 65519, 65520, 6e4, 3e-5]
    values = np.concatenate([special, np.random.RandomState(7).standard_normal(20) * 100])
    for dtype in (np.float32, np.float64, np.float16, _BFLOAT16):
        with np.errstate(over="ignore"):
            operand = values.astype(dtype)
        for exponent, mantissa in ((5, 10), (8, 7), (8, 23), (4, 3), (11, 52), (5, 0), (2, 1)):
            file.add([operand], T=dtype, exponent_bits=exponent, mantissa_bits=mantissa)
    file.add([operand], T=dtype, exponent_bits=0, mantissa_bits=3)
    file.add([operand], T=dtype, exponent_bits=5, mantissa_bits=-1)
    file.add([operand[:0]], T=dtype, exponent_bits=5, mantissa_bits=1)
    return file


def xla_broadcast_helper():
    file = OpFile("XlaBroadcastHelper", compiled=True)

    def add(lhs, rhs, dims, dtype=np.float32):
        file.add(
            [_random(8, lhs, dtype), _random(9, rhs, dtype), np.array(dims, np.int32)],
            T=dtype,
            Tindices=tf.int32,
        )

    add((2, 3), (3,), [1])
    add((2,), (2, 3), [0])
    add((2, 3), (2, 3), [])
    add((), (2, 3), [])
    add((4, 2, 3), (4, 3), [0, 2], np.int32)
    add((2, 3), (1,), [1])
    add((2, 3), (2,), [])
    add((2, 3), (3,), [2])
    add((2, 3), (3,), [0, 1])
    add((2, 3), (3, 2), [1, 0])
    return file


def xla_self_adjoint_eig():
    """Matrices whose eigenvectors are the axes, up to their order: others have any sign."""
    file = OpFile("XlaSelfAdjointEig", compiled=True)
    matrix = np.array([[[2, 9], [0, 1]], [[3, 0], [0, 7]]], np.float32)
    for dtype in (np.float32, np.float64):
        for lower in (True, False):
            value = matrix.astype(dtype) if lower else np.swapaxes(matrix, 1, 2).astype(dtype)
            file.add([value], T=dtype, lower=lower, max_iter=100, epsilon=1e-6, atol=1e-5)
    file.add([matrix[0, :1]], T=tf.float32, lower=True, max_iter=100, epsilon=1e-6)
    file.add([matrix.astype(np.float16)], T=tf.half, lower=True, max_iter=100, epsilon=1e-6)
    return file


def xla_rng_bit_generator():
    file = OpFile("XlaRngBitGenerator", compiled=True)

    def add(algorithm, state, shape, dtype=tf.uint32, sizes=np.int32):
        file.add(
            [np.int32(algorithm), np.array(state, np.uint64), np.array(shape, sizes)],
            dtype=dtype,
            Tshape=sizes,
        )

    for algorithm in (1, 2, 3):
        for dtype in (tf.uint8, tf.uint32, tf.uint64):
            for shape in ([], [7], [3, 5], [5, 2, 3, 4], [0, 3]):
                add(algorithm, [2**40 + 1, 5], shape, dtype)
    add(1, [1, 2**64 - 2, 7], [3, 9])  # carries into the upper half of the counter
    add(1, [1, 2**64 - 2], [3, 9], tf.uint64, np.int64)
    add(2, [1, 2**64 - 2], [3, 9])
    add(1, [1], [3])
    return file


def xla_dequantize():
    file = OpFile("XlaDequantize", compiled=True)

    def add(shape, low=-1.7, high=3.3, mode="MIN_COMBINED", transpose=False):
        words = np.random.RandomState(9).randint(0, 2**32, shape, np.uint32)
        file.add([words], min_range=low, max_range=high, mode=mode, transpose_output=transpose)

    for transpose in (False, True):
        for shape in ([3], [2, 70], [1, 2, 3], [0, 2], [2, 0]):
            add(shape, transpose=transpose)
    add([5], low=1.0, high=1.0)
    add([5], low=0.0, high=255.0)
    add([5], mode="MIN_FIRST")
    return file


def record(directory):
    """Writes the files of all ops, and returns their paths."""
    files = [
        xla_dot(),
        xla_dot_v2(),
        xla_conv("XlaConv"),
        xla_conv("XlaConvV2"),
        xla_einsum(),
        xla_reduce_precision(),
        xla_broadcast_helper(),
        xla_self_adjoint_eig(),
        xla_rng_bit_generator(),
        xla_dequantize(),
    ]
    return [file.write(directory) for file in files]
