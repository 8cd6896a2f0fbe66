"""Calls in which scripts/check_random found that the runtime differed from TensorFlow.

Each function returns the recorded calls of one op. Bad calls are recorded with TensorFlow's code.
"""

import numpy as np
import tensorflow as tf

from conformance.recording import OpFile


def _floats(*values):
    return np.array(values, np.float32)


def _ints(*values):
    return np.array(values, np.int32)


def short_segment_numbers():
    file = OpFile("UnsortedSegmentSum")
    numbers = np.array([1, -1, 1], np.int16)
    types = dict(T=tf.float32, Tindices=tf.int16, Tnumsegments=tf.int32)
    file.add([_floats(1, 2, 3), numbers, np.int32(2)], **types)
    return file


def reversed_scalar():
    file = OpFile("ReverseV2")
    file.add([np.float32(1), np.int32(0)], T=tf.float32, Tidx=tf.int32)
    file.add([_floats(1, 2), np.int32(0)], T=tf.float32, Tidx=tf.int32)
    file.add([np.zeros((0, 1), np.float32), np.int32(-1)], T=tf.float32, Tidx=tf.int32)
    file.add([np.zeros((2, 0), np.float32), _ints(7)], T=tf.float32, Tidx=tf.int32)
    return file


def empty_slice_update():
    file = OpFile("TensorStridedSliceUpdate")
    arguments = [_ints(2), _ints(4), _ints(1), _floats(5, 6)]
    file.add([_floats(1, 2), *arguments], T=tf.float32, Index=tf.int32)
    file.add([_floats(1, 2, 3), *arguments], T=tf.float32, Index=tf.int32)
    return file


def rewrite_with_missing_group():
    file = OpFile("RegexReplace")
    text = np.array(["abc", "xyz"], object)
    for everywhere in (True, False):
        file.add([text, "b", r"\2\1"], replace_global=everywhere)
    return file


def unique_along_scalar_axis():
    file = OpFile("UniqueV2")
    types = dict(T=tf.float32, Taxis=tf.int32, out_idx=tf.int32)
    file.add([_floats(1, 2, 1), np.int32(0)], **types)
    file.add([_floats(1, 2, 1), _ints(0)], **types)
    return file


def where_scalar():
    file = OpFile("Where")
    file.add([np.int32(2)], T=tf.int32)
    return file


def dequantized_bfloat16():
    file = OpFile("Dequantize")
    numbers = np.array([1, -100], np.int8).astype(tf.qint8.as_numpy_dtype)
    for mode in ("MIN_COMBINED", "MIN_FIRST"):
        inputs = [numbers, np.float32(-1), np.float32(1)]
        file.add(inputs, T=tf.qint8, dtype=tf.bfloat16, mode=mode)
    return file


def class_beyond_range():
    file = OpFile("UniformCandidateSampler")
    sizes = dict(num_true=1, num_sampled=2, range_max=5, unique=True, seed=3)
    for true_class in (4, 5, -1):
        file.add([np.array([[true_class]], np.int64)], **sizes)
    return file


def every_class_beyond_range():
    file = OpFile("AllCandidateSampler")
    for true_class in (1, 2):
        classes = np.array([[true_class]], np.int64)
        file.add([classes], num_true=1, num_sampled=2, unique=True, seed=3)
    return file


def dimension_beyond_last():
    file = OpFile("DataFormatDimMap")
    file.add([_ints(6, -4, 3, 9)], T=tf.int32, src_format="NHWC", dst_format="NCHW")
    return file


def area_of_one_sample():
    file = OpFile("ResizeArea")
    for aligned in (True, False):
        image = _floats(1, 2, 3, 4).reshape(1, 1, 2, 2)
        file.add([image, _ints(5, 3)], T=tf.float32, align_corners=aligned)
    return file


def no_neighbors():
    file = OpFile("NearestNeighbors")
    for centers in (2, 0):
        points = _floats(1, 2, 3).reshape(3, 1)
        file.add([points, np.zeros((centers, 1), np.float32), np.int64(0)])
    return file


def gradients_of_other_shapes(op):
    file = OpFile(op)
    for y, dy in (
        (_floats(1, 2), _floats(3)),
        (_floats(1, 2), np.float32(3)),
        (_floats(3), _floats(1, 2)),
        (_floats(1, 2), _floats(1, 3).reshape(2, 1)),
        (_floats(1, 2).reshape(1, 2), _floats(1, 3)),
        (np.float32(2), _floats(3)),
    ):
        file.add([y, dy], T=tf.float32)
    return file


def scales_that_are_not_positive():
    file = OpFile("UniformDequantize")
    limits = dict(quantization_min_val=-128, quantization_max_val=127)
    numbers = np.array([1, -3], np.int8).astype(tf.qint8.as_numpy_dtype)
    for scale in (0.5, 0, -1, np.nan):
        inputs = [numbers, np.float32(scale), np.int32(1)]
        file.add(inputs, Tin=tf.qint8, Tout=tf.float32, **limits)
    return file


def parts_that_do_not_fit():
    file = OpFile("SerializeSparse")
    index = np.array([[0, 0]], np.int64)
    for values, shape in ((2, [2, 2]), (1, [2]), (1, [2, -2])):
        inputs = [index, np.ones(values, np.float32), np.array(shape, np.int64)]
        file.add(inputs, T=tf.float32, out_type=tf.string)
    file.add([index[0], _floats(1), index[0]], T=tf.float32, out_type=tf.string)
    return file


def nearest_gradient_of_both_alignments():
    file = OpFile("ResizeNearestNeighborGrad")
    gradient = np.arange(1, 21, dtype=np.float32).reshape(1, 4, 5, 1)
    for size in (_ints(3, 2), _ints(5, 9)):
        for centers in (False, True):
            alignment = dict(align_corners=True, half_pixel_centers=centers)
            file.add([gradient, size], T=tf.float32, **alignment)
    for shape in ((4, 1, 1, 0), (1, 0, 1, 2), (0, 1, 1, 2), (1, 1, 1)):
        file.add([np.zeros(shape, np.float32), _ints(2, 1)], T=tf.float32)
    return file


def bounds_of_nothing():
    file = OpFile("StatelessRandomUniformInt")
    types = dict(dtype=tf.int32, T=tf.int32, Tseed=tf.int32)
    for count in (0, 2):
        file.add([_ints(count), _ints(1, 2), _ints(), _ints(3)], **types)
    return file


def scalar_as_shape():
    file = OpFile("RandomUniformInt")
    for shape in (np.int32(3), _ints(3)):
        types = dict(T=tf.int32, Tout=tf.int32)
        file.add([shape, np.int32(0), np.int32(9)], seed=3, **types)
    return file


def broadcast_to_a_scalar():
    file = OpFile("BroadcastTo")
    for shape in (np.int32(3), np.int64(-1), _ints(3)):
        file.add([np.float32(2), shape], T=tf.float32, Tidx=shape.dtype)
    return file


def gradients_of_empty_batches():
    file = OpFile("FusedBatchNormGrad")
    none = np.zeros((0, 2, 2, 3), np.float32)
    ones = np.ones(3, np.float32)
    for is_training in (False, True):
        for variance in (ones, -ones):
            file.add([none, none, ones, ones, variance], T=tf.float32, is_training=is_training)
    return file


def factors_of_infinite_matrices():
    file = OpFile("Svd")
    for dtype in (np.float32, np.float64):
        for bad in (np.inf, np.nan):
            matrices = np.array([[[1, bad], [0, 1]], [[bad, 2], [3, 4]]], dtype)
            file.add([matrices], T=dtype, compute_uv=True, full_matrices=False)
        file.add([np.full((1, 1), -np.inf, dtype)], T=dtype, compute_uv=True, full_matrices=False)
    return file


def gradient_of_height_and_width():
    file = OpFile("Conv2DBackpropInput")
    filters, dy = np.ones((3, 3, 2, 1), np.float32), np.ones((1, 3, 2, 1), np.float32)
    file.add([_ints(5, 4), filters, dy], T=tf.float32, strides=[1, 2, 2, 1], padding="SAME")
    return file


def gradients_of_infinite_slopes():
    file = gradients_of_zero("ReciprocalGrad")
    random = np.random.RandomState(5)
    for dtype in (np.complex64, np.complex128):
        y = (random.randn(6) + 1j * random.randn(6)).astype(dtype)
        file.add([y, np.array([np.inf, -np.inf, 1, 2j, np.inf, 3], dtype)], T=dtype)
    return file


def unsigned_seeds():
    file = OpFile("StatelessRandomUniformFullInt")
    for count in (0, 2):
        for dtype in (tf.int64, tf.uint32, tf.uint64):
            seed = np.array([1, 2], dtype.as_numpy_dtype)
            file.add([_ints(count), seed], dtype=tf.uint64, T=tf.int32, Tseed=dtype)
    return file


def algorithms_in_a_vector():
    file = OpFile("StatelessRandomUniformFullIntV2")
    for count in (0, 2):
        for algorithm in (np.int32(1), _ints(1)):
            counter = np.array([1, 2], np.uint64)
            inputs = [_ints(count), counter[:1], counter, algorithm]
            file.add(inputs, dtype=tf.uint64, Tshape=tf.int32)
    return file


def sets_out_of_order():
    file = OpFile("SetSize")
    for indices in ([[0, 1], [1, 0]], [[0, 1], [0, 1]], [[1, 0], [0, 1]], [[0, 1], [1, 2]]):
        inputs = [np.array(indices, np.int64), _ints(1, 2), np.array([2, 2], np.int64)]
        file.add(inputs, T=tf.int32, validate_indices=True)
    for indices in ([[1, 0], [0, 0], [1, 1]], [[1, 0], [0, 5], [1, 1]]):
        inputs[:2] = np.array(indices, np.int64), _ints(1, 2, 3)
        file.add(inputs, T=tf.int32, validate_indices=False)
    return file


def crosses_of_mixed_columns():
    file = OpFile("SparseCross")
    indices = np.array([[0, 0], [1, 0]], np.int64)
    shape = np.array([2, 1], np.int64)
    numbers, texts = np.array([[1], [2]], np.int64), np.array([["a"], ["b"]], object)
    for internal in (tf.int64, tf.string):
        for column in (numbers, texts):
            inputs = [indices, np.array(["x", "y"], object), shape, column]
            types = dict(sparse_types=[tf.string], out_type=tf.int64, internal_type=internal)
            types["dense_types"] = [tf.string if column is texts else tf.int64]
            file.add(inputs, N=1, hashed_output=True, num_buckets=0, hash_key=1, **types)
    return file


def gradients_outside_a_slice():
    file = OpFile("SparseSliceGrad")
    for indices, gradients in (
        ([[0, 0], [0, 1]], [[0, 1]]),
        ([[0, 0], [0, 1]], [[1, 1]]),
        ([[0, 0]], [[0, 0], [0, 1]]),
    ):
        start = np.zeros(2, np.int64)
        values = np.arange(1, len(gradients) + 1, dtype=np.float32)
        inputs = [values, np.array(indices, np.int64), start, np.array(gradients, np.int64)]
        file.add(inputs, T=tf.float32)
    return file


def products_of_empty_ranges():
    file = OpFile("QuantizedMatMul")
    number = np.array([[3]], np.uint8).astype(tf.quint8.as_numpy_dtype)
    types = dict(T1=tf.quint8, T2=tf.quint8, Toutput=tf.qint32)
    for low, high in ((0, 1), (1, 1), (1, 0)):
        ends = [np.float32(end) for end in (low, high, 0, 1)]
        file.add([number, number, *ends], **types)
    return file


def maxima_of_empty_images():
    file = OpFile("MaxPoolWithArgmax")
    for shape in ((0, 2, 2, 1), (1, 2, 2, 0), (1, 2, 2, 1)):
        window = dict(ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="SAME")
        file.add([np.zeros(shape, np.float32)], T=tf.float32, **window)
    # A window over channels is that of one point.
    for strides in ((1, 1, 1, 2), (1, 2, 1, 2), (1, 1, 1, 1)):
        file.add([np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)], T=tf.float32,
                 ksize=[1, 1, 1, 2], strides=strides, padding="SAME")
    return file


def rows_quantized_for_products():
    file = OpFile("UniformQuantizedDotHybrid")
    generator = np.random.default_rng(7)
    rows = generator.normal(size=(24, 5)).astype(np.float32)
    rows[0] = 0
    rows[1] = np.abs(rows[1])
    rows[2] = -np.abs(rows[2])
    rows[3] = [0, 127.5, -127.5, 0.5, -0.5]
    weights = generator.integers(-128, 128, (5, 3)).astype(np.int8)
    limits = dict(rhs_quantization_min_val=-128, rhs_quantization_max_val=127)
    inputs = [rows, weights.astype(tf.qint8.as_numpy_dtype), np.float32(0.25), np.int32(3)]
    file.add(inputs, Tlhs=tf.float32, Trhs=tf.qint8, Tout=tf.float32, **limits)
    return file


def gradients_of_zero(op):
    file = OpFile(op)
    results = _floats(0, 0, np.inf, np.inf, np.nan, -1)
    gradients = _floats(0, 1, 0, 1, 0, 0)
    file.add([results, gradients], T=tf.float32)
    file.add([results.astype(np.float64), gradients.astype(np.float64)], T=tf.float64)
    zeros = np.zeros(6, np.complex64)
    file.add([results.astype(np.complex64), zeros], T=tf.complex64)
    return file


def bins_of_deeper_tensors():
    file = OpFile("SparseBincount")
    indices = np.array([[0, 1, 0], [1, 0, 1], [1, 1, 1]], np.int64)
    inputs = [indices, _ints(1, 2, 2), np.array([2, 2, 2], np.int64), np.int32(3), _floats()]
    file.add(inputs, Tidx=tf.int32, T=tf.float32)
    return file


def maxima_outside_the_shape():
    file = OpFile("SparseSparseMaximum")
    for column in (1, 2):
        operand = [np.array([[0, column]], np.int64), _floats(3), np.array([1, 2], np.int64)]
        file.add(operand + operand, T=tf.float32)
    return file


def eigenvalues_of_other_precision():
    file = OpFile("Eig")
    for dtype in (tf.complex64, tf.complex128):
        matrix = np.array([[2, 0], [0, 3]], np.float32)
        file.add([matrix], T=tf.float32, Tout=dtype, compute_v=True)
    return file


def peepholes_that_are_not_used():
    file = OpFile("LSTMBlockCell")
    generator = np.random.default_rng(3)
    for shape in ((2,), (3,), ()):
        shapes = [(1, 1), (1, 2), (1, 2), (3, 8), shape, shape, shape, (8,)]
        inputs = [generator.normal(size=size).astype(np.float32) for size in shapes]
        file.add(inputs, T=tf.float32)
    return file


def bounds_in_vectors_of_one():
    file = OpFile("ParameterizedTruncatedNormal")
    for wrap in (np.float32, _floats):
        bounds = [wrap(bound) for bound in (1, 1.0625, 1, 2.625)]
        file.add([_ints(5), *bounds], dtype=tf.float32, T=tf.int32, seed=433, seed2=678910)
    return file


def sorted_scalars():
    file = OpFile("XlaKeyValueSort")
    file.add([np.float32(1), np.int32(2)], K=tf.float32, V=tf.int32)
    return file


def gradients_without_a_number(op):
    """A gradient that goes nowhere is a product with zero."""
    file = OpFile(op)
    gradients = _floats(1, np.nan, np.inf, -np.inf, 2, np.nan, 3)
    numbers = _floats(0.5, 0.5, -2, 2, np.nan, -2, np.inf)
    if op == "FakeQuantWithMinMaxArgsGradient":
        file.add([gradients, numbers], min=-1.0, max=1.0)
        return file
    one = np.float32(1) if op == "FakeQuantWithMinMaxVarsGradient" else np.ones(7, np.float32)
    for high in (one, 0 * one):
        file.add([gradients, numbers, -high, high])
    return file


def sums_requantized_to_signed_bytes():
    file = OpFile("Requantize")
    sums = np.array([-(2**31), -70000, -1000, 0, 1000, 70000, 2**31 - 1], np.int32)
    types = dict(Tinput=tf.qint32, out_type=tf.qint8)
    for ends in ((-100, 100, -0.01, 0.01), (-100, 50, -0.02, 0.003), (0, 9, 0, 9), (1, 2, 1, 2)):
        numbers = [np.float32(end) for end in ends]
        file.add([sums.astype(tf.qint32.as_numpy_dtype), *numbers], **types)
    return file


def splits_that_end_early():
    file = OpFile("StringSplitV2")
    strings = np.array([b"", b"  ", b" a b  ", b"a ", b"a b c ", b",a,,b"], object)
    for separator in (b"", b","):
        for maxsplit in (-1, 0, 1, 2, 5):
            file.add([strings, np.array(separator, object)], maxsplit=maxsplit)
    return file


def controls_in_strict_text():
    file = OpFile("UnicodeDecode")
    for errors in ("strict", "replace", "ignore"):
        for text in (b"a\tb", b"a\xffb"):
            file.add(
                [np.array([text], object)],
                input_encoding="UTF-8",
                errors=errors,
                replace_control_characters=True,
                Tsplits=tf.int64,
            )
    return file


def scripts_younger_than_the_library():
    file = OpFile("UnicodeScript")
    file.add([np.array([0x41, 0x10FB0, 0x1E100, 0x10E80, 0x10F70, 0x11F00, 0x30000], np.int32)])
    return file


def segments_below_zero():
    file = OpFile("UnsortedSegmentJoin")
    types = dict(Tindices=tf.int32, Tnumsegments=tf.int32)
    words = np.array([b"a", b"b", b"c"], object)
    for ids in ([0, 1, 0], [0, -1, 0], [0, 2, 0]):
        file.add([words, np.array(ids, np.int32), np.int32(2)], separator="/", **types)
    words = np.array([b"", b"a", b"", b"b"], object)
    file.add([words, np.zeros(4, np.int32), np.int32(2)], separator="/", **types)
    return file


def diagonals_outside_the_matrix(op):
    file = OpFile(op)
    for low, high, shape in ((0, 2, (3, 2)), (-3, 0, (4, 3)), (-1, 3, (5, 3)), (2, 2, (1,))):
        for rows, columns in ((-1, -1), (3, -1), (-1, 3)):
            diagonals = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1
            numbers = [np.array(ends, np.int32) for ends in ([low, high], rows, columns)]
            file.add([diagonals, *numbers, np.float32(-1)], T=tf.float32)
    return file


def matrix_without_a_factor():
    """TensorFlow leaves NaN where there is no factor."""
    file = OpFile("Cholesky")
    matrices = np.array([[[-1, 0], [0, 2]], [[4, 0], [2, 2]]], np.float32)
    for dtype in (tf.float32, tf.float64):
        file.add([matrices.astype(dtype.as_numpy_dtype)], T=dtype)
    return file


def doubles_seen_through_a_projection():
    file = OpFile("ImageProjectiveTransformV3")
    generator = np.random.default_rng(11)
    transform = np.array([[1, 0.1, 1.5, -0.1, 0.9, 1.5, 0.01, 0]], np.float32)
    for dtype in (tf.float64, tf.uint8):
        images = (200 * generator.random((1, 4, 5, 1))).astype(dtype.as_numpy_dtype)
        for fill in ("CONSTANT", "REFLECT"):
            file.add(
                [images, transform, np.array([4, 6], np.int32), np.float32(7)],
                dtype=dtype,
                interpolation="BILINEAR",
                fill_mode=fill,
            )
    return file


def gradients_of_resized_doubles():
    file = OpFile("ResizeBilinearGrad")
    generator = np.random.default_rng(12)
    gradients = generator.normal(size=(1, 3, 4, 2)).astype(np.float32)
    for dtype in (np.float64, np.float32):
        for centers in (False, True):
            original = np.zeros((1, 6, 5, 2), dtype)
            file.add([gradients, original], T=dtype, half_pixel_centers=centers)
    return file


def boxes_suppressed_softly():
    file = OpFile("NonMaxSuppressionV5")
    generator = np.random.default_rng(13)
    boxes = generator.random((6, 4)).astype(np.float32)
    scores = generator.normal(size=6).astype(np.float32)
    for sigma in (0, 0.5):
        for least in (-np.inf, 0.3):
            numbers = [np.float32(number) for number in (0.15, least, sigma)]
            file.add([boxes, scores, np.int32(5), *numbers], T=tf.float32)
    return file


def halves_as_factors():
    # The factors have any sign: a matrix that is triangular already has one of its own.
    file = OpFile("Qr")
    file.add([np.zeros((2, 0, 3), np.float16)], T=tf.half, full_matrices=False)
    file.add([np.zeros((3, 0), np.float16)], T=tf.half, full_matrices=True)
    return file


def means_that_are_equal():
    file = OpFile("IsotonicRegression")
    for dtype, out in ((np.int16, tf.float32), (np.int32, tf.float64), (np.float16, tf.half)):
        for row in ([0, -1, 0, 1], [1, 1], [2, 1, 2, 1, 2], [3, 1, 2, 3, 3], [5, 1, 4, 0, 9]):
            file.add([np.array([row], dtype)], T=dtype, output_dtype=out)
    for value in (5.0, [2.0, 3.0, 1.0], np.zeros((2, 0)), [[[1.0, 2.0]], [[2.0, 1.0]]]):
        file.add([np.array(value, np.float32)], T=tf.float32, output_dtype=tf.float32)
    return file


def sums_below_the_range():
    file = OpFile("UniformQuantizedAdd")
    sides = [np.array([v], np.int32).astype(tf.qint32.as_numpy_dtype) for v in (19, -313)]
    ranges = [np.float32(1), np.int32(0), np.float32(1), np.int32(5), np.float32(1), np.int32(1)]
    attrs = {}
    for side, low in (("lhs", -(2**31)), ("rhs", -(2**31)), ("output", 3)):
        attrs[f"{side}_quantization_min_val"] = low
        attrs[f"{side}_quantization_max_val"] = 2**31 - 1
    file.add([*sides, *ranges], T=tf.qint32, **attrs)
    return file


def start_that_is_a_scalar():
    file = OpFile("XlaDynamicUpdateSlice", compiled=True)
    file.add([_floats(1, 2), _floats(5), np.int32(1)], T=tf.float32, Tindices=tf.int32)
    file.add([_floats(1, 2), _floats(5), _ints(1)], T=tf.float32, Tindices=tf.int32)
    return file


_FILES = (
    short_segment_numbers,
    reversed_scalar,
    empty_slice_update,
    rewrite_with_missing_group,
    unique_along_scalar_axis,
    where_scalar,
    dequantized_bfloat16,
    class_beyond_range,
    every_class_beyond_range,
    dimension_beyond_last,
    area_of_one_sample,
    no_neighbors,
    lambda: gradients_of_other_shapes("InvGrad"),
    lambda: gradients_of_other_shapes("TanhGrad"),
    scales_that_are_not_positive,
    parts_that_do_not_fit,
    nearest_gradient_of_both_alignments,
    bounds_of_nothing,
    scalar_as_shape,
    broadcast_to_a_scalar,
    gradients_of_infinite_slopes,
    gradient_of_height_and_width,
    factors_of_infinite_matrices,
    gradients_of_empty_batches,
    unsigned_seeds,
    algorithms_in_a_vector,
    sets_out_of_order,
    crosses_of_mixed_columns,
    gradients_outside_a_slice,
    products_of_empty_ranges,
    maxima_of_empty_images,
    rows_quantized_for_products,
    lambda: gradients_of_zero("SqrtGrad"),
    lambda: gradients_of_zero("RsqrtGrad"),
    bins_of_deeper_tensors,
    maxima_outside_the_shape,
    eigenvalues_of_other_precision,
    peepholes_that_are_not_used,
    bounds_in_vectors_of_one,
    sorted_scalars,
    lambda: gradients_without_a_number("FakeQuantWithMinMaxArgsGradient"),
    lambda: gradients_without_a_number("FakeQuantWithMinMaxVarsGradient"),
    lambda: gradients_without_a_number("FakeQuantWithMinMaxVarsPerChannelGradient"),
    sums_requantized_to_signed_bytes,
    splits_that_end_early,
    controls_in_strict_text,
    scripts_younger_than_the_library,
    segments_below_zero,
    lambda: diagonals_outside_the_matrix("MatrixDiagV2"),
    lambda: diagonals_outside_the_matrix("MatrixDiagV3"),
    matrix_without_a_factor,
    doubles_seen_through_a_projection,
    gradients_of_resized_doubles,
    boxes_suppressed_softly,
    halves_as_factors,
    means_that_are_equal,
    sums_below_the_range,
    start_that_is_a_scalar,
)


def record(directory):
    """Writes DIRECTORY/OP.pb for each op, and returns the paths."""
    return [make().write(directory) for make in _FILES]
