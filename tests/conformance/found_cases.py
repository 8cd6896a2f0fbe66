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
)


def record(directory):
    """Writes DIRECTORY/OP.pb for each op, and returns the paths."""
    return [make().write(directory) for make in _FILES]
