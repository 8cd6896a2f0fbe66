"""Calls at the boundary of what an op takes: empty tensors, single elements, zeros, wrong orders.
scripts/check_random found that the runtime differed from TensorFlow in them.

Each function returns the recorded calls of one op. Bad calls are recorded with TensorFlow's code.
"""

import numpy as np
import tensorflow as tf

from conformance.recording import OpFile

_FLOAT = dict(T=tf.float32)


def _zeros(*shape):
    return np.zeros(shape, np.float32)


def _ints(*values):
    return np.array(values, np.int32)


def diagonal_of_a_scalar():
    file = OpFile("DiagPart")
    file.add([np.float32(3)], **_FLOAT)
    return file


def scalar_for_a_shape():
    file = OpFile("Reshape")
    for size in (6, -1, 5):
        file.add([_zeros(2, 3), np.int32(size)], T=tf.float32, Tshape=tf.int32)
    # What is left is counted without the sizes of 0.
    for shape, sizes in (((3, 0, 1, 3), (3, 0, -1)), ((2, 0, 3), (4, 0, -1)), ((2, 0), (0, 4, -1)),
                         ((0, 0, 5), (0, 2, -1)), ((2, 3), (0, -1)), ((2, 0, 3), (2, -1))):
        file.add([_zeros(*shape), _ints(*sizes)], T=tf.float32, Tshape=tf.int32)
    return file


def two_ellipses_without_dimensions():
    file = OpFile("StridedSlice")
    none = np.zeros(0, np.int32)
    file.add([np.float32(1), none, none, none], T=tf.float32, Index=tf.int32, ellipsis_mask=3)
    file.add([np.float32(1), none, none, none], T=tf.float32, Index=tf.int32, ellipsis_mask=4)
    return file


def no_indices():
    file = OpFile("UnravelIndex")
    file.add([np.zeros(0, np.int32), _ints(3)], Tidx=tf.int32)
    return file


def updates_without_indices(op):
    file = OpFile(op)
    for indices, updates in (((0,), (2,)), ((0, 1), (0,)), ((2, 0), (2, 2)), ((0, 1), (2,))):
        file.add([_zeros(2), np.zeros(indices, np.int32), _zeros(*updates)],
                 T=tf.float32, Tindices=tf.int32)
    return file


def gradients_of_empty_images(op):
    file = OpFile(op)
    for gradient, image in (((4, 1, 1, 0), (4, 1, 1, 0)), ((0, 1, 1, 2), (0, 1, 1, 2)),
                            ((1, 0, 1, 2), (1, 1, 1, 2)), ((1, 1, 1, 2), (1, 0, 1, 2))):
        file.add([_zeros(*gradient), _zeros(*image)], **_FLOAT)
    # The corners of a single pixel cannot be aligned.
    gradient = np.linspace(-1, 2, 17, dtype=np.float32).reshape(1, 17, 1, 1)
    for rows in (1, 2, 3):
        file.add([gradient, np.zeros((1, rows, 1, 1))], T=tf.float64, align_corners=True)
    return file


def images_of_two_pixels():
    file = OpFile("ScaleAndTranslate")
    image = np.array([[1, 2], [3, 4]], np.uint8).reshape(1, 2, 2, 1)
    for kernel in ("lanczos3", "triangle", "box"):
        file.add([image, _ints(4, 5), np.float32([1, 1]), np.float32([1, 2])],
                 T=tf.uint8, kernel_type=kernel)
    # The placement is looked at where there are no images, too.
    one = np.ones(2, np.float32)
    for scale, translation in ((one, one), (one[:1], one), (one, one[:1]), (-one, one)):
        file.add([_zeros(0, 2, 2, 1), _ints(3, 3), scale, translation], **_FLOAT)
    return file


def strides_over_channels(op):
    file = OpFile(op)
    images = np.arange(32, dtype=np.float32).reshape(1, 4, 4, 2)
    for size, strides in (([1, 2, 2, 1], [1, 2, 2, 2]), ([1, 2, 2, 2], [1, 2, 2, 1]),
                          ([1, 2, 2, 1], [2, 2, 2, 1])):
        file.add([images], T=tf.float32, ksize=size, strides=strides, padding="VALID")
    return file


def filters_for_no_channels():
    file = OpFile("Conv2D")
    for shape in ((0, 1, 1, 0), (1, 0, 1, 0), (0, 1, 1, 1), (1, 1, 0, 1)):
        file.add([_zeros(1, 3, 3, 1), _zeros(*shape)],
                 T=tf.float32, strides=[1, 1, 1, 1], padding="VALID")
    return file


def windows_over_channels():
    file = OpFile("Conv")
    for strides in ([1, 1, 1, 2], [2, 1, 1, 1]):
        file.add([_zeros(1, 2, 2, 1), _zeros(1, 1, 1, 1)],
                 T=tf.float32, strides=strides, padding="SAME")
    file.add([_zeros(1, 2, 2, 2), _zeros(1, 1, 1, 2)],
             T=tf.float32, strides=[1, 1, 1, 1], padding="SAME", groups=2)
    return file


def patches_of_bad_sizes():
    file = OpFile("ExtractImagePatches")
    for size in ([2, 1, 1, 1], [1, 1, 1, 2], [1, 0, 1, 1], [1, 2, 1, 1]):
        file.add([_zeros(1, 2, 2, 1)], T=tf.float32, ksizes=size, strides=[1, 1, 1, 1],
                 rates=[1, 1, 1, 1], padding="SAME")
    return file


def dilations_of_small_images():
    file = OpFile("Dilation2D")
    for image, strides in (((1, 0, 0, 1), [1, 1, 1, 1]), ((1, 1, 1, 1), [1, 1, 1, 1]),
                           ((1, 1, 1, 1), [1, 1, 1, 2]), ((1, 1, 1, 1), [1, 0, 1, 1])):
        for size in (1, 2, 3):
            file.add([_zeros(*image), _zeros(size, size, 1)], T=tf.float32, strides=strides,
                     rates=[1, 1, 1, 1], padding="VALID")
    return file


def pooled_values_that_are_not():
    file = OpFile("FractionalMaxPoolGrad")
    image = np.arange(6, dtype=np.float32).reshape(1, 2, 3, 1)
    pooled = np.array([4, 5], np.float32).reshape(1, 1, 2, 1)
    sequences = [np.array([0, 2], np.int64), np.array([0, 2, 3], np.int64)]
    for wrong in (0, 1):
        file.add([image, pooled + wrong, pooled, *sequences], **_FLOAT)
    return file


def ranges_above_zero():
    file = OpFile("RequantizePerChannel")
    numbers = np.zeros((1, 1, 1, 1), np.int32).astype(tf.qint32.as_numpy_dtype)
    for out_type in (tf.qint8, tf.quint8):
        for low in (-1, 0, 1):
            file.add([numbers, np.float32([-1]), np.float32([1]), np.float32(low), np.float32(2)],
                     T=tf.qint32, out_type=out_type)
    # There may be ranges of more channels than images have.
    numbers = np.array([5, -7, 9], np.int32).reshape(1, 1, 1, 3) << 27
    for images, minima, maxima in ((numbers, 3, 3), (numbers, 7, 7), (numbers, 3, 7),
                                   (numbers[:, :0], 1, 1), (numbers[0], 3, 3)):
        file.add([images.astype(tf.qint32.as_numpy_dtype), -np.arange(1, minima + 1, dtype=np.float32),
                  np.ones(maxima, np.float32), np.float32(-1), np.float32(2)],
                 T=tf.qint32, out_type=tf.qint8)
    return file


def gradients_of_equal_indices():
    file = OpFile("SparseAddGrad")
    a = np.array([[0], [1], [1], [3]], np.int64)
    b = np.array([[1], [1], [2]], np.int64)
    file.add([np.float32([1, 2, 3, 4]), a, b, np.array([[0], [1], [2], [3]], np.int64)], **_FLOAT)
    return file


def sums_of_scalars():
    file = OpFile("SparseAdd")
    scalar = [np.zeros((1, 0), np.int64), np.float32([2]), np.zeros(0, np.int64)]
    file.add([*scalar, *scalar, np.float32(0)], T=tf.float32, Treal=tf.float32)
    return file


def quotients_by_zero():
    file = OpFile("SparseDenseCwiseDiv")
    indices = np.array([[0], [2]], np.int64)
    for dense in ([1, 0, 2], [0, 1, 1]):
        file.add([indices, np.float32([1, 2]), np.array([3], np.int64), np.float32(dense)], **_FLOAT)
    return file


def paths_of_nothing():
    file = OpFile("CTCGreedyDecoder")
    file.add([_zeros(3, 0, 3), np.zeros(0, np.int32)], **_FLOAT)
    return file


def shapes_below_zero(op, **types):
    file = OpFile(op)
    shapes = np.array([0.5, -0.5, 0.0, -0.0, np.inf, np.nan])
    file.add([np.array([3], np.int64), shapes], **types)
    return file


def slopes_outside_the_domain():
    file = OpFile("RandomGammaGrad")
    shapes = np.array([-1, -1, 0, 0, np.nan, 2, np.inf])
    file.add([shapes, np.array([0, 1, 0, 1, 0, 0, 1], np.float64)], T=tf.float64)
    # The density underflows for some.
    shapes = np.array([1926, 100, 50, 30, 200, 1926, 5])
    samples = np.array([1, 1, 1, 1, 3, 1000, 1e-30])
    for dtype in (np.float32, np.float64):
        file.add([shapes.astype(dtype), samples.astype(dtype)], T=dtype)
    return file


def summaries_of_other_shapes():
    file = OpFile("ScalarSummary")
    file.add([np.array(["a"], object), np.float32(1)], **_FLOAT)
    file.add([np.array(["a"], object), np.float32([1])], **_FLOAT)
    return file


def groups_of_missing_devices():
    file = OpFile("CollectiveAssignGroupV2")
    for group in ([[0, -1]], [[-1, 0]], [[0, 3]], [[2, 0]]):
        file.add([np.array(group, np.int32), np.int32(0), np.int32(4)])
    file.add([np.array([[1, -3]], np.int32), np.int32(-3), np.int32(4)])
    return file


def lines_of_one_element():
    file = OpFile("XlaSort", compiled=True)
    file.add([np.array([[2], [1]], np.complex64)], T=tf.complex64)
    return file


def padding_in_a_vector():
    file = OpFile("XlaPad", compiled=True)
    one = _ints(1)
    for value in (np.float32(7), np.float32([7])):
        file.add([_zeros(2), value, one, one, one], T=tf.float32, Tindices=tf.int32)
    return file


def strides_over_channels_of_volumes():
    file = OpFile("AvgPool3D")
    for stride in (1, 2):
        file.add([np.ones((1, 2, 2, 2, 1), np.float32)], ksize=[1, 2, 1, 1, 1],
                 strides=[1, 1, 1, 1, stride], padding="VALID", **_FLOAT)
    # Windows that are larger than the volume by less than a stride.
    for size, stride in ((2, 2), (3, 2), (3, 1), (4, 2), (5, 2)):
        file.add([np.ones((1, 1, 2, 2, 1), np.float32)], ksize=[1, size, 1, 1, 1],
                 strides=[1, stride, 1, 1, 1], padding="VALID", **_FLOAT)
    return file


def gradients_of_no_planes():
    file = OpFile("AvgPool3DGrad")
    for size, planes in ((3, 0), (2, 0), (1, 1)):
        file.add([_ints(1, 1, 2, 1, 1), np.ones((1, planes, 2, 1, 1), np.float32)],
                 ksize=[1, size, 1, 1, 1], strides=[1, 2, 1, 1, 1], padding="VALID", **_FLOAT)
    return file


def windows_refused_for_several_reasons():
    file = OpFile("MaxPoolGradV2")
    for ksize, strides in (((1, 1, 1, 2), (1, 1, 1, 1)), ((1, 1, 1, 1), (2, 0, 1, 1)),
                           ((1, 0, 1, 1), (1, 1, 1, 1)), ((1, 1, 1, 1), (1, 0, 1, 1)),
                           ((1, 1, 1, 1), (0, 1, 1, 1))):
        images = np.ones((1, 2, 2, 2), np.float32)
        file.add([images, images, images, _ints(*ksize), _ints(*strides)], padding="VALID",
                 **_FLOAT)
        file.add([images[0], images, images, _ints(*ksize), _ints(*strides)], padding="VALID",
                 **_FLOAT)
    return file


def limits_wider_than_their_scalar():
    file = OpFile("ClipByValue")
    for x, low, high in (((), (), (1,)), ((), (1,), ()), ((1,), (), (1,)), ((2,), (1,), ()),
                         ((2,), (2,), ()), ((1, 1), (1,), (1,))):
        file.add([_zeros(*x), _zeros(*low), _zeros(*high)], **_FLOAT)
    return file


def zeros_of_both_signs():
    file = OpFile("UniqueWithCounts")
    for dtype in (np.float16, tf.bfloat16.as_numpy_dtype, np.float32):
        file.add([np.array([0, -0.0, np.nan, np.nan, 1, 0], dtype)], T=tf.as_dtype(dtype))
    return file


def updates_without_dimensions(op):
    file = OpFile(op)
    file.add([_zeros(3), _ints(1), np.float32(2)], T=tf.float32, Tindices=tf.int32)
    file.add([_zeros(3), _ints(1).reshape(1, 1), np.float32([2])], T=tf.float32, Tindices=tf.int32)
    return file


def parts_of_positions_outside():
    file = OpFile("SparseSplit")
    for positions in ([[0, 2], [1, 0]], [[0, 1], [5, 0]], [[0, -1], [1, 0]], [[1, 0], [0, 1]]):
        file.add([np.int64(1), np.array(positions, np.int64), np.float32([1, 2]),
                  np.array([3, 2], np.int64)], T=tf.float32, num_split=2)
    return file


def frames_in_grey_images():
    file = OpFile("DrawBoundingBoxesV2")
    for colors in ([[0.25]], np.zeros((0, 1))):
        file.add([_zeros(1, 3, 3, 1), np.float32([[[0, 0, 1, 1]]]), np.array(colors, np.float32)],
                 **_FLOAT)
    return file


def dilated_bytes():
    file = OpFile("QuantizedConv2D")
    images = np.ones((1, 3, 3, 1), np.uint8).astype(tf.quint8.as_numpy_dtype)
    ends = [np.float32(0), np.float32(1)]
    for strides, dilations in (((1, 1, 1, 1), (1, 2, 2, 1)), ((1, 1, 1, 1), (2, 1, 1, 1)),
                               ((2, 1, 1, 1), (1, 1, 1, 1))):
        file.add([images, images[:, :1, :1], *ends, *ends], Tinput=tf.quint8, Tfilter=tf.quint8,
                 out_type=tf.qint32, strides=strides, dilations=dilations, padding="VALID")
    return file


def strides_over_the_batch():
    file = OpFile("Conv2DBackpropFilter")
    images = np.ones((1, 2, 2, 1), np.float32)
    for strides, dilations in (((2, 1, 1, 1), (1, 1, 1, 1)), ((1, 1, 1, 1), (2, 1, 1, 1)),
                               ((1, 0, 1, 1), (1, 1, 1, 1))):
        file.add([images, _ints(1, 1, 1, 1), images], strides=strides, dilations=dilations,
                 padding="VALID", **_FLOAT)
    return file


def contexts_of_no_examples():
    file = OpFile("ParseSequenceExample")
    empty = tf.train.SequenceExample().SerializeToString()
    counts = dict(Ncontext_dense=1, Ncontext_sparse=0, Nfeature_list_dense=0, Nfeature_list_sparse=0)
    lists = ("context_sparse_keys", "context_sparse_types", "feature_list_dense_keys",
             "feature_list_sparse_keys", "feature_list_sparse_types", "feature_list_dense_types",
             "feature_list_dense_shapes", "feature_list_dense_missing_assumed_empty")
    for examples, size, default in (([], 2, [7, 8]), ([], 2, []), ([empty], 0, [])):
        file.add([np.array(examples, object), np.array([], object), np.float32(default)],
                 context_dense_keys=["a"], Tcontext_dense=[tf.float32],
                 context_dense_shapes=[tf.TensorShape([size]).as_proto()], **counts,
                 **{name: [] for name in lists})
    return file


def sets_in_two_pieces(op):
    file = OpFile(op)
    shape = np.array([2, 2], np.int64)
    second = [np.array([[1, 0], [0, 0], [1, 1]], np.int64), np.array([3, 4, 5], np.int64), shape]
    first = [np.array([[4, 5], [5, 6]], np.int64)]
    if op == "SparseToSparseSetOperation":
        first = [np.array([[0, 0], [1, 0], [0, 1]], np.int64), np.array([4, 5, 3], np.int64), shape]
    for operation in ("union", "a-b", "b-a", "intersection"):
        file.add(first + second, T=tf.int64, set_operation=operation, validate_indices=False)
    return file


def places_of_maxima_over_channels():
    file = OpFile("MaxPoolGradWithArgmax")
    images = np.arange(16, dtype=np.float32).reshape(2, 2, 2, 2)
    gradients = images[..., :1] + 1
    places = np.array([0, 2, 4, 6, 1, 3, 5, 7]).reshape(2, 2, 2, 1)
    attrs = dict(T=tf.float32, Targmax=tf.int64, padding="SAME", ksize=[1, 1, 1, 2])
    for strides, grad in (((1, 1, 1, 2), gradients), ((1, 2, 1, 2), gradients),
                          ((1, 1, 1, 1), gradients), ((1, 1, 1, 2), images)):
        file.add([images, grad, places], strides=strides, include_batch_in_index=False, **attrs)
    batch = [images, gradients, places + np.array([0, 8]).reshape(2, 1, 1, 1)]
    file.add(batch, strides=[1, 1, 1, 2], include_batch_in_index=True, **attrs)
    file.add([_zeros(1, 1), _zeros(1, 1), np.int64(6)], strides=[1, 1, 1, 1], **attrs)
    return file


def partitions_of_other_sizes():
    file = OpFile("RaggedTensorToTensor")

    def add(values, shape, kinds, *partitions):
        file.add([np.array(shape, np.int64), np.float32(values), np.float32(-1),
                  *(np.array(partition, np.int64) for partition in partitions)],
                 T=tf.float32, Tindex=tf.int64, Tshape=tf.int64,
                 num_row_partition_tensors=len(kinds), row_partition_types=kinds)

    splits = "ROW_SPLITS"
    add([1, 2, 3, 4, 5], -1, [splits], [0, 2, 3])
    add([1, 2], [1, 2], [splits], [0, 2, 9])  # the values that are not there are cut off
    add([1], [2, 1], [splits], [0, 1, 1])
    ids = ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]
    add([1, 2, 3, 4], -1, ids, 2, [0, 1])
    add([1, 2, 3], [2, 1], ids, 2, [0, 0, 1, 1])
    for inner in ([0, 1], [0, 1, 2], [0, 1, 2, 3]):
        add([1, 2, 3, 4], -1, [splits, splits], [0, 2], inner)
    return file


def vectors_of_coordinates(op):
    file = OpFile(op)
    for shape, indices, updates in (((8, 10, 1), (5, 6), (1,)), ((8,), (1, 3), (2,)),
                                    ((4, 2), (3,), (1, 2)), ((4, 2), (3, 1), (2, 2)),
                                    ((0,), (), (0,)), ((4,), (9,), (1,)), ((4,), (1, 9), (2,))):
        file.add([_zeros(*shape), _ints(*indices), _zeros(*updates) + 7],
                 T=tf.float32, Tindices=tf.int32)
    return file


def sizes_of_volumes_refused_first():
    file = OpFile("MaxPool3D")
    for size in ((0, 1, 1, 1, 1), (1, 0, 1, 1, 2), (2, 1, 1, 1, 1), (1, 1, 1, 1, 2)):
        file.add([_zeros(1, 1, 1, 1, 1)], ksize=size, strides=(1,) * 5, padding="VALID", **_FLOAT)
    return file


def gradients_without_images():
    file = OpFile("MaxPoolGradGradV2")
    image, matrix = _zeros(1, 1, 1, 1), _zeros(1, 1)
    for size in ((1, 1, 1, 2), (2, 1, 1, 1), (1, 1, 1, 1)):
        for inputs in ([matrix] * 3, [image, matrix, image], [image, image, matrix], [image] * 3):
            file.add([*inputs, _ints(*size), _ints(1, 1, 1, 1)], padding="VALID", **_FLOAT)
    return file


def gradients_of_no_pixels():
    file = OpFile("ScaleAndTranslateGrad")
    image, scale = np.ones((1, 2, 2, 1), np.float32), np.ones(2, np.float32)
    file.add([image[:, :, :0], image, scale, scale], **_FLOAT)
    file.add([image[:, :0], image, scale, scale], antialias=False, **_FLOAT)
    # Images and channels are those of the gradients; the placement is looked at in any case.
    for gradients, original, place in (
            (image[:, :, :0], image, scale[:1]), (image[:, :0], image, -scale),
            (np.concatenate([image, image]), image, scale), (image[:0], image, scale),
            (image, image[..., :0], scale), (image, image[:, :0], scale),
            (image[0], image, scale), (image, image, scale * 0)):
        file.add([gradients, original, place, place], **_FLOAT)
    return file


def numbers_of_rows_without_elements():
    file = OpFile("UnsortedSegmentMax")
    types = dict(T=tf.float32, Tindices=tf.int32, Tnumsegments=tf.int32)
    for rows, numbers, count in ((_zeros(2, 0), (0, 3), 3), (_zeros(2, 1), (0, 3), 3),
                                 (_zeros(2, 0), (0, 1), 0), (_zeros(2, 1), (0, 1), 0)):
        file.add([rows, _ints(*numbers), np.int32(count)], **types)
    return file


_FILES = (
    diagonal_of_a_scalar,
    scalar_for_a_shape,
    two_ellipses_without_dimensions,
    no_indices,
    lambda: updates_without_indices("TensorScatterMax"),
    lambda: gradients_of_empty_images("ResizeBicubicGrad"),
    images_of_two_pixels,
    lambda: strides_over_channels("AvgPool"),
    filters_for_no_channels,
    windows_over_channels,
    patches_of_bad_sizes,
    dilations_of_small_images,
    pooled_values_that_are_not,
    ranges_above_zero,
    gradients_of_equal_indices,
    sums_of_scalars,
    quotients_by_zero,
    paths_of_nothing,
    lambda: shapes_below_zero("RandomGamma", S=tf.int64, T=tf.float64, seed=1, seed2=2),
    slopes_outside_the_domain,
    summaries_of_other_shapes,
    groups_of_missing_devices,
    lines_of_one_element,
    padding_in_a_vector,
    strides_over_channels_of_volumes,
    gradients_of_no_planes,
    windows_refused_for_several_reasons,
    limits_wider_than_their_scalar,
    zeros_of_both_signs,
    lambda: updates_without_dimensions("TensorScatterAdd"),
    parts_of_positions_outside,
    frames_in_grey_images,
    dilated_bytes,
    strides_over_the_batch,
    contexts_of_no_examples,
    lambda: sets_in_two_pieces("DenseToSparseSetOperation"),
    lambda: sets_in_two_pieces("SparseToSparseSetOperation"),
    places_of_maxima_over_channels,
    partitions_of_other_sizes,
    lambda: vectors_of_coordinates("TensorScatterSub"),
    lambda: vectors_of_coordinates("ScatterNdNonAliasingAdd"),
    sizes_of_volumes_refused_first,
    gradients_of_no_pixels,
    gradients_without_images,
    numbers_of_rows_without_elements,
)


def record(directory):
    """Writes DIRECTORY/OP.pb for each op, and returns the paths."""
    return [make().write(directory) for make in _FILES]
