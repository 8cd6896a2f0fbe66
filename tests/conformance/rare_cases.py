"""Calls of ops that few models have, at the edge of what they accept and beyond it.

Each function returns the recorded calls of one op. Bad calls are recorded with TensorFlow's code.
"""

import numpy as np
import tensorflow as tf

from conformance.recording import OpFile


def _int64(*values):
    return np.array(values, np.int64)


def random_index_shuffle():
    file = OpFile("RandomIndexShuffle")

    def add(index, seed, limit, rounds=4):
        types = {"dtype": tf.as_dtype(np.asarray(index).dtype), "Tseed": np.asarray(seed).dtype}
        file.add([index, seed, limit], rounds=rounds, **types)

    seed = _int64(5, -1, 2**40)
    add(_int64(0, 1, 77777, 2**40), seed, np.int64(2**40), rounds=8)
    add(np.arange(5, dtype=np.int32), seed.astype(np.int32), np.int32(70000))
    add(np.int32(3), np.array([[1, 2, 3], [3, 4, 5]]), np.int32(9))
    add(np.uint64(0), seed, np.uint64(0))
    add(_int64(1, 2), np.array([[1, 2, 3], [3, 4, 5]]), _int64(9, 1000))
    add(np.int64(10), seed, np.int64(9))
    add(np.int64(-1), seed, np.int64(9))
    add(_int64(), seed, np.int64(9))
    add(_int64(1), seed, _int64(9, 9))
    add(np.int64(1), seed[:2], np.int64(9))
    return file


def extract_glimpse(op):
    file = OpFile(op)
    image = np.arange(60, dtype=np.float32).reshape(2, 5, 3, 2)

    def add(size, offsets, images=image, **attrs):
        offsets = np.array(offsets, np.float32)
        file.add(
            [images, np.array(size, np.int32), offsets], uniform_noise=False, noise="zero", **attrs
        )

    for centered in (True, False):
        for normalized in (True, False):
            for size in ([3, 2], [7, 4], [1, 1]):
                for offsets in ([[0, 0], [0.4, -0.7]], [[2, -3], [-1.5, 1]]):
                    add(size, offsets, centered=centered, normalized=normalized)
    add([2, 2], [[90, 90], [-90, 0]], normalized=False)
    add([2, 2], [[0, 0]])
    add([0, 2], [[0, 0], [0, 0]])
    add([2], [[0, 0], [0, 0]])
    add([2, 2], [[0, 0], [0, 0]], images=image[0])
    return file


def decode_proto():
    file = OpFile("DecodeProtoV2")

    def add(texts, message, fields, types, **attrs):
        attrs = {"message_format": "text", **attrs}
        file.add(
            [np.array(texts, object)],
            message_type=f"tensorflow.{message}",
            field_names=fields,
            output_types=types,
            **attrs,
        )

    shape = 'dim { size: 3 name: "x" } dim { size: -1 } unknown_rank: true'
    add([[shape], [""]], "TensorShapeProto", ["unknown_rank", "dim"], [tf.bool, tf.string])
    add("value: 3 value: -4", "Int64List", ["value"], [tf.int64])
    add(["value: 3"], "Int64List", ["value"], [tf.int32])
    add(["value: x"], "Int64List", ["value"], [tf.int64])
    add(["value: 3"], "Int64List", ["valu"], [tf.int64])
    add(["value: 3"], "Int64Lis", ["value"], [tf.int64])
    add(["value: 3"], "Int64List", ["value"], [tf.int64, tf.int64])
    add(["value: 3"], "Int64List", ["value"], [tf.int64], message_format="json")
    add([b"\x0a\x05\x01"], "Int64List", ["value"], [tf.int64], message_format="binary")
    add(np.zeros((0,), object), "Int64List", ["value"], [tf.int64])

    def add_bytes(messages, message, fields, types):
        for sanitize in (False, True):
            add(messages, message, fields, types, message_format="binary", sanitize=sanitize)

    # A name that is no UTF-8, twice; a dimension that is cut, one of fields in another order, with
    # one that nobody knows; two members of a oneof; numbers packed and not.
    add_bytes([b"\x0a\x01a\x0a\x02\xff\xfe"], "NodeDef", ["name"], [tf.string])
    add_bytes([b"\x12\x01\x08", b""], "TensorShapeProto", ["dim"], [tf.string])
    dim = b"\x12\x07\x98\x06\x03\x12\x00\x08\x02"
    add_bytes([dim + b"\x18\x05"], "TensorShapeProto", ["dim", "unknown_rank"], [tf.string, tf.bool])
    both = b"\x18\x07\x12\x01s\x25\x00\x00\x80\x3f"
    attrs = [both, b"\x18\x07\x18\x08", b"\x18\x00", b"\x1a\x01\x09", b"\x1d\x00\x00\x00\x00"]
    add_bytes(attrs, "AttrValue", ["s", "f", "i"], [tf.string, tf.float32, tf.int64])
    add_bytes([b"\x18\x07", b"\x18\x07\x1a\x01\x09"], "AttrValue", ["i", "i"], [tf.int64, tf.int64])
    minus = b"\xfd\xff\xff\xff\xff\xff\xff\xff\xff\x01"
    ints = [b"\x3a\x0b\x05" + minus, b"\x38" + minus + b"\x3a\x02\x01\x02"]
    add_bytes(ints, "TensorProto", ["int_val", "dtype"], [tf.int64, tf.int32])
    add_bytes(ints, "TensorProto", ["int_val", "float_val"], [tf.int32, tf.float64])
    add_bytes([b"\x2a\x05\x00\x00\x80\x3f\x00"], "TensorProto", ["float_val"], [tf.float32])
    add_bytes([b"\x3a\x02\x01\x80"], "TensorProto", ["int_val"], [tf.int32])
    for damaged in (b"\x80", b"\x0a\x05ab", b"\x08\x01\x00", b"\x0c", b"\x0b\x08\x05", b"\x0e", b"\x02\x01"):
        add_bytes([b"", damaged], "NodeDef", ["name"], [tf.string])
        add_bytes([b"", damaged], "NodeDef", ["op"], [tf.string])
    return file


def encode_proto():
    file = OpFile("EncodeProto")

    def add(sizes, values, message, fields):
        values = [np.array(value) for value in values]
        values = [v.astype(object) if v.dtype.kind in "SU" else v for v in values]
        types = [tf.string if v.dtype == object else tf.as_dtype(v.dtype) for v in values]
        file.add(
            [np.array(sizes, np.int32), *values],
            message_type=f"tensorflow.{message}",
            field_names=fields,
            Tinput_types=types,
        )

    dims = [[b"\x0a\x01x", b""]]
    add([[1, 2]], [[[True]], dims], "TensorShapeProto", ["unknown_rank", "dim"])
    add([[1, 0]], [[[False]], dims], "TensorShapeProto", ["unknown_rank", "dim"])
    add([[1], [2]], [[[1, 2], [-3, 4]]], "Int64List", ["value"])
    add([[0]], [[[1, 2]]], "Int64List", ["value"])
    add([[3]], [[[1, 2]]], "Int64List", ["value"])
    add([[1], [2]], [[[1, 2]]], "Int64List", ["value"])
    add([[1, 1]], [[[1, 2]]], "Int64List", ["value"])
    add([2], [[1, 2]], "Int64List", ["value"])
    add([[2]], [np.array([[1, 2]], np.float32)], "Int64List", ["value"])
    add([[1]], [[[1]]], "Int64List", ["valu"])
    return file


def debug_numeric_summary():
    file = OpFile("DebugNumericSummaryV2")
    deep = np.zeros((1, 2, 3, 1, 2, 1, 2), np.int32)
    half = np.array([1, np.nan, -np.inf], np.float16)
    for value in (deep, half, np.array([True, False]), np.int8(-3), half[:0]):
        value = np.asarray(value)
        for mode in (2, 3, 4, 5, 8):
            file.add(
                [value], T=value.dtype, tensor_debug_mode=mode, tensor_id=9, output_dtype=tf.float64
            )
    file.add([half], T=half.dtype, tensor_debug_mode=1)
    file.add([half], T=half.dtype, tensor_debug_mode=2, tensor_id=2**24 + 1)
    return file


def kmeans():
    file = OpFile("KmeansPlusPlusInitialization")
    points = np.random.RandomState(4).standard_normal((40, 3)).astype(np.float32)
    for count, seed, retries in ((1, 0, 0), (12, 7, 0), (12, 7, 5), (9, 1, -1)):
        file.add([points, np.int64(count), np.int64(seed), np.int64(retries)])
    file.add([points, np.int64(41), np.int64(1), np.int64(1)])
    file.add([points, np.int64(0), np.int64(1), np.int64(1)])
    file.add([points[0], np.int64(1), np.int64(1), np.int64(1)])
    file.add([points, _int64(1), np.int64(1), np.int64(1)])
    return file


def _copied_when_fed(array):
    """The array at an address that TensorFlow does not take tensors at, so that no op writes to it.

    SdcaOptimizer writes to its input example_state_data.
    """
    place = np.empty(array.size + 1, array.dtype)[1:].reshape(array.shape)
    place[...] = array
    return place


def sdca_optimizer(op):
    """One example, or several without a feature in common, whose order does not matter."""
    file = OpFile(op)
    switch = "adaptive" if op.endswith("V2") else "adaptative"
    random = np.random.RandomState(5)

    def numbers(*shape):
        return random.standard_normal(shape).astype(np.float32)

    def add(
        labels,
        sparse=(),
        dense=(),
        loss="logistic_loss",
        weights=None,
        state=None,
        values=None,
        **attrs,
    ):
        count = len(labels)
        if weights is None:
            weights = 1 + np.arange(count, dtype=np.float32) / 4
        if state is None:
            state = np.zeros((count, 4), np.float32)
        if values is None:
            values = [numbers(len(group[0])) for group in sparse]
        indices = [group[2] for group in sparse]
        file.add(
            [_int64(*group[0]) for group in sparse]
            + [_int64(*group[1]) for group in sparse]
            + values
            + [np.asarray(group, np.float32) for group in dense]
            + [np.asarray(weights, np.float32), np.asarray(labels, np.float32)]
            + [_int64(*group) for group in indices]
            + [numbers(len(group)) for group in indices]
            + [numbers(np.shape(group)[-1]) for group in dense]
            + [_copied_when_fed(np.asarray(state, np.float32))],
            **{"l1": 0.1, "l2": 0.8, "num_loss_partitions": 1, switch: False, **attrs},
            loss_type=loss,
            num_sparse_features=len(sparse),
            num_sparse_features_with_values=len(values),
            num_dense_features=len(dense),
            num_inner_iterations=1,
        )

    # Example, feature, and the features that there are, of each group.
    apart = ([0, 0, 1, 3], [5, 2, 9, 7], [2, 5, 7, 9])
    two_groups = (apart, ([1, 2], [0, 1], [0, 1]))
    losses = ("logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss", "poisson_loss")
    for loss in losses:
        add([1, 0, 0, 1], two_groups, loss=loss)
        duals = np.full((1, 4), 0.25, np.float32)
        add([1], [], [numbers(1, 5), numbers(1, 2)], loss, state=duals, **{switch: True})
        add([0], [([0, 0], [1, 0], [0, 1])], [numbers(1, 3)], loss, num_loss_partitions=3)
    add([1, 0, 0, 1], two_groups, values=[])
    add([1, 0, 0, 1], two_groups, values=[numbers(4)])
    add([3, 0, 2, 1], [apart], loss="poisson_loss")
    add([1, 0, 0, 1], [apart], weights=[0, 1, 2, 0])
    add([], [([], [], [0])])
    add([1], [], [numbers(1, 0)])
    # Out of order: what comes behind is passed over.
    add([1, 0], [([1, 0], [0, 1], [0, 1])])
    add([1, 2], [([0, 1], [0, 1], [0, 1])])
    add([-1], [], [numbers(1, 2)], loss="poisson_loss")
    add([1], [([0], [3], [0, 1])])
    add([1], [([0, 0], [1, 1], [0, 1])])
    add([1], [([0, 0], [1], [0, 1])])
    add([1], [], [numbers(2)])
    add([1], [], [numbers(1, 2)], state=np.zeros((2, 4)))
    add([1], [], [numbers(1, 2)], state=np.zeros(4))
    add([1, 1], [], [numbers(1, 2)], weights=[1])
    return file


def record(directory):
    """Writes the files of all ops, and returns their paths."""
    files = [
        random_index_shuffle(),
        extract_glimpse("ExtractGlimpse"),
        extract_glimpse("ExtractGlimpseV2"),
        decode_proto(),
        encode_proto(),
        debug_numeric_summary(),
        kmeans(),
        sdca_optimizer("SdcaOptimizer"),
        sdca_optimizer("SdcaOptimizerV2"),
    ]
    return [file.write(directory) for file in files]
