"""Calls at the edge of what ops accept: empty tensors, values out of range, shapes that do not fit.

Each function returns the recorded calls of one op. Bad calls are recorded with TensorFlow's code.
"""

import numpy as np
import tensorflow as tf

from conformance.recording import OpFile

_E5M2 = tf.dtypes.experimental.float8_e5m2
_E4M3 = tf.dtypes.experimental.float8_e4m3fn


def _normal(seed, *shape, dtype=np.float32):
    return np.random.RandomState(seed).standard_normal(shape).astype(dtype)


def _int64(*values):
    return np.array(values, np.int64)


def cast():
    file = OpFile("Cast")
    numbers = [0.0, -0.0, 1.0, -1.5, 0.0625, 2**-9, 2**-10, 2**-16, 2**-17, 1.0625, 1.1875]
    numbers += [240, 448, 464, 465, 480, 57344, 61440, 61441, 1e9, np.inf, -np.inf, np.nan]
    for target in (_E5M2, _E4M3):
        for source in (tf.float32, tf.float64, tf.half, tf.bfloat16):
            values = np.array(numbers).astype(source.as_numpy_dtype)
            file.add([values], SrcT=source, DstT=target, Truncate=False)
        every = np.arange(256, dtype=np.uint8).view(target.as_numpy_dtype)
        other = _E4M3 if target == _E5M2 else _E5M2
        for to in (tf.float32, tf.float64, tf.half, tf.bfloat16, tf.bool, tf.complex64, other):
            file.add([every], SrcT=target, DstT=to, Truncate=False)
        small = np.array([0, 1, -2.5, 7, 100]).astype(target.as_numpy_dtype)
        for to in (tf.int8, tf.int32, tf.int64):
            file.add([small], SrcT=target, DstT=to, Truncate=False)
        file.add([np.zeros((0, 2), target.as_numpy_dtype)], SrcT=target, DstT=tf.float32)
    return file


def string_format():
    file = OpFile("StringFormat")

    def add(*values, template="{}", **attrs):
        dtypes = [np.asarray(value).dtype for value in values]
        types = [tf.string if dtype == object else tf.as_dtype(dtype) for dtype in dtypes]
        file.add(values, T=types, template=template, placeholder="{}", **attrs)

    text = ["é", "日本", "a\nb\t", "q\"x'\\"]
    add(np.array([s.encode() for s in text] + [b"\x00\xff\x80"], object), template="é {} y")
    add(np.array("日本 é".encode(), object))
    add(np.array([1 + 2j], np.complex64))
    add(np.zeros((0, 2), np.float32))
    add(np.float32(1e-9), np.array([True, False]), template="{}{}", summarize=1)
    return file


def serialize_sparse():
    file = OpFile("SerializeManySparse")
    indices = _int64([0, 0], [2, 1], [2, 2])
    for values in (np.array([1, 2, 3], np.int8), np.array([b"a", b"", b"\xff" * 200], object)):
        dtype = tf.string if values.dtype == object else tf.as_dtype(values.dtype)
        file.add([indices, values, _int64(4, 3)], T=dtype, out_type=tf.string)
    one = np.array([1.0], np.float32)
    file.add([_int64([0]), one, _int64(4)], T=tf.float32, out_type=tf.string)
    file.add([_int64([5, 0]).reshape(1, 2), one, _int64(4, 3)], T=tf.float32, out_type=tf.string)
    file.add([indices, one, _int64(4, 3)], T=tf.float32, out_type=tf.string)
    for row in ([0, 0], [0, 1], [1, 3]):  # repeated, in order, out of bounds
        values = np.array([1, 2], np.float32)
        file.add([_int64([0, 0], row), values, _int64(4, 3)], T=tf.float32, out_type=tf.string)
    return file


def sparse_segment_gradient():
    file = OpFile("SparseSegmentMeanGradV2")

    def add(gradient, indices, segments, rows):
        file.add(
            [gradient, np.array(indices, np.int32), np.array(segments, np.int32), np.int32(rows)],
            T=tf.as_dtype(gradient.dtype),
            Tidx=tf.int32,
            Tsegmentids=tf.int32,
        )

    gradient = _normal(1, 3, 2)
    add(gradient, [4, 0, 4], [0, 0, 2], 5)
    add(gradient.astype(tf.bfloat16.as_numpy_dtype), [4, 0, 4], [0, 0, 2], 5)
    add(gradient, [], [], 5)
    add(gradient, [5], [0], 5)
    add(gradient, [-1], [0], 5)
    add(gradient, [0], [3], 5)
    add(gradient, [0], [-1], 5)
    add(gradient, [0, 1], [0], 5)
    return file


def ragged_cross():
    file = OpFile("RaggedCross")
    attrs = dict(
        Nsparse=0,
        hashed_output=True,
        num_buckets=0,
        hash_key=956888297470,
        ragged_values_types=[tf.int64],
        ragged_splits_types=[tf.int32],
        sparse_values_types=[],
        dense_types=[tf.string],
        out_values_type=tf.int64,
        out_row_splits_type=tf.int32,
    )
    splits = np.array([0, 2, 2, 3], np.int32)
    dense = np.array([[b"a", b"b"], [b"c", b"d"], [b"e", b""]], object)
    values = _int64(1, -2, 3)
    file.add([values, splits, dense], input_order="RD", **attrs)
    file.add([values, splits, dense], input_order="DR", **attrs)
    file.add([values, splits, dense[:2]], input_order="RD", **attrs)
    file.add([values, np.array([0, 2, 1, 3], np.int32), dense], input_order="RD", **attrs)
    return file


def encode_jpeg():
    file = OpFile("EncodeJpeg")
    image = np.random.RandomState(3).randint(0, 256, (9, 10, 3)).astype(np.uint8)
    file.add([image], quality=30, progressive=True, density_unit="cm", xmp_metadata="<x/>")
    file.add([image[..., :1]], format="grayscale", optimize_size=True, quality=100)
    file.add([image[..., :2]])
    file.add([image[..., :1]], format="rgb")
    file.add([image[0]])
    file.add([image], quality=101)
    file.add([image[:0]])
    return file


def ctc_loss():
    file = OpFile("CTCLoss")
    logits = _normal(4, 4, 2, 3)

    def add(indices, values, lengths, **attrs):
        labels = np.array(values, np.int32)
        at = np.array(indices, np.int64).reshape(len(values), 2)
        file.add([logits, at, labels, np.array(lengths, np.int32)], T=tf.float32, **attrs)

    add([[0, 0], [0, 1], [1, 0]], [0, 0, 1], [4, 3])
    add([[0, 0], [0, 1], [1, 0]], [0, 0, 1], [4, 3], ctc_merge_repeated=False)
    add([[0, 0], [0, 1], [0, 2], [1, 0]], [0, 1, 0, 1], [2, 2])
    add([[0, 0], [0, 1], [0, 2], [1, 0]], [0, 2, 0, 1], [4, 2])
    add([[0, 0], [1, 0]], [-1, 1], [4, 4])
    for bad in ([[1, 0], [0, 0]], [[0, 0], [0, 0]], [[0, -1], [1, 0]]):
        add(bad, [0, 1], [4, 4])
    add([[0, 0], [1, 0]], [0, 1], [5, 4])
    add([[0, 0], [2, 0]], [0, 1], [4, 4])
    add([[1, 0]], [1], [4, 4])
    return file


def random_gamma():
    file = OpFile("StatelessRandomGammaV2")

    def add(shape, alpha, seed=(3, 4)):
        file.add(
            [np.array(shape, np.int32), _int64(*seed), alpha],
            dtype=tf.as_dtype(alpha.dtype),
            T=tf.int32,
            Tseed=tf.int64,
        )

    add([3, 2], np.array([0.1, 50.0]))
    add([3, 2], np.array([0.1, 50.0], np.float16))
    add([0, 2], np.array([0.1, 50.0]))
    add([2, 3], np.array([0.1, 50.0]))
    add([2], np.float32(1), seed=(1, 2, 3))
    return file


def random_poisson():
    file = OpFile("StatelessRandomPoisson")

    def add(shape, rate, dtype):
        file.add(
            [np.array(shape, np.int64), _int64(3, 4), rate],
            dtype=dtype,
            Rtype=tf.as_dtype(rate.dtype),
            T=tf.int64,
            Tseed=tf.int64,
        )

    for dtype in (tf.int32, tf.int64, tf.float64, tf.half):
        add([5, 3], np.array([0.0, 9.5, 1000.0]), dtype)
    add([2, 2], np.array([1, 30], np.int64), tf.float32)
    add([2], np.float64(np.inf), tf.float32)
    add([2, 3], np.array([0.1, 50.0]), tf.float32)
    return file


def bounded_normal():
    file = OpFile("StatelessParameterizedTruncatedNormal")

    def add(shape, *parameters, dtype=np.float64):
        inputs = [np.array(value, dtype) for value in parameters]
        types = dict(S=tf.int32, Tseed=tf.int64, dtype=tf.as_dtype(dtype))
        file.add([np.array(shape, np.int32), _int64(3, 4), *inputs], **types)

    add([250], 0.0, 1.0, -1.0, 2.0)
    add([6, 2], [0.0, 1.0], 1.0, 3.0, [3.5, np.inf])
    add([6, 2], [0.0, 1.0], 1.0, -np.inf, [[-3.5, 0.5]], dtype=np.float32)
    add([6, 2], 0.0, 0.5, -1, 1, dtype=np.float16)
    add([6], 0.0, -1.0, -1, 1)
    add([6], 0.0, 1.0, 1, 1)
    add([6], 0.0, 1.0, -np.inf, np.inf)
    add([6, 3], [0.0, 1.0], 1.0, -1, 1)
    return file


def candidates():
    file = OpFile("LogUniformCandidateSampler")

    def add(classes, num_true=1, num_sampled=5, range_max=50, unique=True, seed=9):
        file.add(
            [np.array(classes, np.int64)],
            num_true=num_true,
            num_sampled=num_sampled,
            range_max=range_max,
            unique=unique,
            seed=seed,
            seed2=3,
        )

    add([[1], [49]])
    add([[1, 2]], num_true=2, unique=False, num_sampled=60)
    add([[1, 2]], num_true=2, num_sampled=50)
    add(np.zeros((0, 1)))
    add([[1]], num_sampled=51)
    add([[1, 2]])
    add([1])
    return file


def fractional_pool():
    file = OpFile("FractionalMaxPool")
    images = _normal(5, 1, 9, 7, 2)

    def add(ratio, value=images, **attrs):
        file.add([value], pooling_ratio=ratio, T=tf.as_dtype(value.dtype), **attrs)

    for pseudo_random in (False, True):
        seeds = dict(deterministic=True, seed=5, seed2=6, pseudo_random=pseudo_random)
        add([1.0, 1.5, 2.5, 1.0], **seeds)
        add([1.0, 3.0, 7.0, 1.0], overlapping=True, **seeds)
    add([1.0, 10.0, 1.0, 1.0])
    add([2.0, 1.0, 1.0, 1.0])
    add([1.0, 1.5, 1.5, 1.0], value=images[0])
    add([1.0, 1.5, 1.5, 1.0], seed=5)
    return file


def matrix_square_root():
    file = OpFile("MatrixSquareRoot")
    matrix = _normal(6, 2, 3, 3, dtype=np.float64)
    square = matrix @ matrix.swapaxes(1, 2)
    file.add([square], T=tf.float64, rtol=1e-7, atol=1e-7)
    file.add([np.zeros((2, 0, 0))], T=tf.float64)
    file.add([square[:, :2]], T=tf.float64)
    file.add([square[0, 0]], T=tf.float64)
    return file


def matrix_logarithm():
    file = OpFile("MatrixLogarithm")
    matrix = _normal(6, 2, 3, 3, dtype=np.float64)
    square = (matrix @ matrix.swapaxes(1, 2)).astype(np.complex128)
    file.add([square], T=tf.complex128, rtol=1e-7, atol=1e-7)
    file.add([np.zeros((0, 3, 3), np.complex64)], T=tf.complex64)
    file.add([square[:, :2]], T=tf.complex128)
    return file


def tridiagonal_solve():
    file = OpFile("TridiagonalSolve")

    def add(diagonals, right, pivot=True, **attrs):
        dtype = tf.as_dtype(right.dtype)
        file.add([diagonals, right], T=dtype, partial_pivoting=pivot, **attrs)

    diagonals = _normal(7, 3, 4, dtype=np.float64)
    for pivot in (True, False):
        add(diagonals, _normal(8, 4, 2, dtype=np.float64), pivot)
        add(np.zeros((3, 4)), np.ones((4, 1)), pivot)
    swaps = np.array([[1.0, 2, 3, 0], [0, 0, 5, 0], [0, 1, 2, 3]])
    add(swaps, np.ones((4, 1)))
    add(diagonals, np.ones((3, 1)))
    add(diagonals[:2], np.ones((4, 1)))
    # The second row of the matrix is twice the first one.
    singular = np.array([[2.0, 0, 1, 0], [1, 4, 3, 0], [0, 2, 0, 0]])
    for dtype in (np.float32, np.float64, np.complex64, np.complex128):
        for matrix in (diagonals, swaps, singular, np.zeros((3, 4))):
            right = _normal(9, matrix.shape[1], 2, dtype=np.float64).astype(dtype)
            add(matrix.astype(dtype), right, perturb_singular=True, rtol=1e-4)
        add(np.zeros((2, 3, 1), dtype), np.ones((2, 1, 2), dtype), perturb_singular=True)
    add(diagonals, np.ones((4, 1)), pivot=False, perturb_singular=True)
    return file


def banded_triangular_solve():
    file = OpFile("BandedTriangularSolve")

    def add(bands, right, dtype=np.float64, **attrs):
        values = [_normal(3, *bands, dtype=np.float64) + 4, _normal(4, *right, dtype=np.float64)]
        file.add([value.astype(dtype) for value in values], T=dtype, **attrs)

    for bands, right in (
        ((2, 3, 2, 4), (2, 3, 4, 2)),
        ((3, 2, 4), (2, 3, 4, 2)),
        ((2, 1, 2, 4), (3, 4, 2)),
        ((2, 4), (3, 4, 2)),
        ((2, 2, 4), (4, 2)),
        ((1, 3, 1, 4), (2, 1, 4, 5)),
        ((2, 5, 4), (2, 4, 2)),
    ):
        for lower in (True, False):
            for adjoint in (True, False):
                add(bands, right, lower=lower, adjoint=adjoint)
    add((3, 2, 4), (2, 3, 4, 2), np.complex64, lower=False, adjoint=True)
    add((2, 2, 4), (3, 4, 2))
    add((2, 2, 4), (2, 3, 2))
    add((2, 0, 4), (2, 4, 2))
    return file


def spectrogram():
    file = OpFile("AudioSpectrogram")
    sound = _normal(9, 40, 2)
    file.add([sound], window_size=16, stride=5, magnitude_squared=True, rtol=1e-4, atol=1e-4)
    file.add([sound], window_size=41, stride=5)
    file.add([sound[:, 0]], window_size=16, stride=5)
    file.add([sound], window_size=1, stride=5)
    file.add([sound], window_size=16, stride=0)
    return file


def json_example():
    file = OpFile("DecodeJSONExample")

    def add(*texts):
        file.add([np.array([text.encode() for text in texts], object)])

    add('{"features": {"feature": {"a": {"bytesList": {"value": ["YQ==", ""]}}}}}', "{}")
    add('{"features": {"feature": {"a": {"floatList": {"value": [1.5, -2]}}}}}')
    add("{")
    add('{"feature": {}}')
    file.add([np.array([], object)])
    return file


def uniform_quantize():
    file = OpFile("UniformQuantize")

    def add(value, scales, points, axis=-1):
        file.add(
            [value, np.array(scales, np.float32), np.array(points, np.int32)],
            Tin=tf.float32,
            Tout=tf.qint8,
            quantization_axis=axis,
            quantization_min_val=-127,
            quantization_max_val=127,
        )

    values = _normal(10, 2, 3)
    add(values * 100, 0.5, 3)
    add(values, [0.1, 0.2], [1, 2], axis=0)
    add(values, [0.1, 0.2], [1, 2], axis=1)
    add(values, [0.1], [1])
    add(values, 0.0, 1)
    add(values, -1.0, 1)
    add(values[:0], 1.0, 1)
    return file


_FILES = (
    cast,
    string_format,
    serialize_sparse,
    sparse_segment_gradient,
    ragged_cross,
    encode_jpeg,
    ctc_loss,
    random_gamma,
    random_poisson,
    bounded_normal,
    candidates,
    fractional_pool,
    matrix_square_root,
    matrix_logarithm,
    tridiagonal_solve,
    banded_triangular_solve,
    spectrogram,
    json_example,
    uniform_quantize,
)


def record(directory):
    """Writes DIRECTORY/OP.pb for each op, and returns the paths."""
    return [make().write(directory) for make in _FILES]
