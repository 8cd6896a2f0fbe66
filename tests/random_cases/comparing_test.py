"""Which results of ops count as those of TensorFlow."""

import numpy as np
import pytest
import tensorflow as tf

from random_cases import check_random, comparing
from tensorflow.core.framework import graph_pb2


def _case(op):
    case = graph_pb2.GraphDef()
    case.node.add(name="op0", op=op)
    case.node.add(name="plan", op="NoOp").attr["_fetch"].list.s.append(b"op0:0")
    return case


class _Worker:
    """Answers every case with one tensor, or with an error and its message."""

    def __init__(self, way, value, error=None, message="", dtype=np.float32):
        self._way, self._value = way, np.asarray(value, dtype)
        self._error, self._message = error, message

    def send(self, case):
        pass

    def receive(self):
        answer = graph_pb2.GraphDef()
        for way in self._way:
            if self._error is not None:
                node = answer.node.add(name=way, op="NoOp")
                node.attr["_error"].s = self._error.encode()
                node.attr["_message"].s = self._message.encode()
                continue
            node = answer.node.add(name=f"{way}/0", op="Const")
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(self._value))
        return answer


def _verdict(op, got, want):
    runtime, oracle = _Worker(comparing.WAYS, got), _Worker(["tensorflow"], want)
    return comparing.Comparison(runtime, oracle).judge(_case(op)).kind


@pytest.mark.parametrize(
    "last_pivot, other, kind",
    [
        (1e-8, 0.70710677, ""),  # what rounding leaves of 0.5 - 0.5
        (1e-2, 0.70710677, "value"),
        (1e-8, 0.7072, "value"),
    ],
)
def test_factors_of_singular_matrix_agree_by_their_product(last_pivot, other, kind):
    got = [[0.70710677, 0], [other, last_pivot]]
    want = [[0.70710677, 0], [0.70710677, 1.7263349e-4]]
    assert _verdict("Cholesky", got, want) == kind


@pytest.mark.parametrize(
    "got, kind",
    [
        ([2.0001e6, 1e6], ""),  # the pivot magnifies a bit of the other unknown
        ([2.4e6, 1e6], "value"),
        ([2e6, 1.1e6], "value"),
        ([np.nan, 1e6], "value"),
    ],
)
def test_solutions_of_triangular_systems_agree_by_their_residuals(got, kind):
    case = graph_pb2.GraphDef()
    for name, value in (("in0", [[1e-6, 1], [0, 1e-6]]), ("in1", [[1e6 + 2], [1]])):
        tensor = tf.make_tensor_proto(np.asarray(value, np.float32))
        case.node.add(name=name, op="Const").attr["value"].tensor.CopyFrom(tensor)
    call = case.node.add(name="op0", op="MatrixTriangularSolve", input=["in0", "in1"])
    call.attr["lower"].b = False
    case.node.add(name="plan", op="NoOp").attr["_fetch"].list.s.append(b"op0:0")
    runtime = _Worker(comparing.WAYS, np.reshape(got, (2, 1)))
    oracle = _Worker(["tensorflow"], [[2e6], [1e6]])
    assert comparing.Comparison(runtime, oracle).judge(case).kind == kind


def test_only_factors_agree_by_their_product():
    assert _verdict("Identity", [[1e-8]], [[1.7263349e-4]]) == "value"


@pytest.mark.parametrize(
    "got, want, kind",
    [
        (complex(np.inf, np.nan), complex(np.inf, np.inf), ""),
        (complex(np.nan, np.nan), complex(0, -np.inf), ""),
        (complex(np.inf, np.nan), 1 + 2j, "value"),
        (1 + 2j, complex(np.nan, np.nan), "value"),
        (1 + 2j, 1 + 3j, "value"),
    ],
)
def test_complex_infinities_are_not_told_apart(got, want, kind):
    runtime = _Worker(comparing.WAYS, [got], dtype=np.complex64)
    oracle = _Worker(["tensorflow"], [want], dtype=np.complex64)
    assert comparing.Comparison(runtime, oracle).judge(_case("Mul")).kind == kind


@pytest.mark.parametrize(
    "message, kind",
    [
        ("Default MaxPoolingOp only supports NHWC on device type CPU", "skipped"),
        ("Default Pooling3DOp only supports NDHWC on device type CPU", "skipped"),
        ("Depthwise convolution on CPU is only supported for NHWC format", "skipped"),
        ("Only tensors with ranks between 1 and 5 are currently supported.", "skipped"),
        ("Pooling is not yet supported on the batch dimension.", "missing error"),
    ],
)
def test_layouts_that_tensorflow_lacks_are_not_compared(message, kind):
    runtime = _Worker(comparing.WAYS, [1.0])
    oracle = _Worker(["tensorflow"], [1.0], "INVALID_ARGUMENT", message)
    assert comparing.Comparison(runtime, oracle).judge(_case("MaxPool")).kind == kind


def _ctc_case(labels, logits_shape=(4, 2, 3)):
    case = _case("CTCLoss")
    inputs = {"logits": np.zeros(logits_shape, np.float32),
              "indices": [[0, 0], [1, 0], [1, 1]], "labels": labels}
    for name, value in inputs.items():
        dtype = {"indices": tf.int64, "labels": tf.int32}.get(name)
        case.node.add(name=name, op="Const").attr["value"].tensor.CopyFrom(
            tf.make_tensor_proto(value, dtype))
        case.node[0].input.append(name)
    return case


@pytest.mark.parametrize(
    "labels, kind",
    [
        ([0, 1, 0], "value"),
        ([0, 1, 2], "value"),
        ([0, 2, 2], "skipped"),
        ([2, 0, 1], "skipped"),
    ],
)
def test_ctc_losses_count_unless_a_sequence_is_all_blank(labels, kind):
    runtime, oracle = _Worker(comparing.WAYS, [1.0]), _Worker(["tensorflow"], [2.0])
    assert comparing.Comparison(runtime, oracle).judge(_ctc_case(labels)).kind == kind


@pytest.mark.parametrize(
    "op, position, shape, kind",
    [
        ("SparseSegmentMeanGrad", 1, [0], "skipped"),
        ("SparseSegmentMeanGrad", 0, [0, 2], "value"),
        ("MatrixSolveLs", 0, [0, 2], "skipped"),
        ("MatrixSolveLs", 0, [2, 2], "value"),
    ],
)
def test_results_that_tensorflow_leaves_unset_are_not_compared(op, position, shape, kind):
    case = _case(op)
    for number in range(2):
        value = np.zeros(shape if number == position else [2, 2], np.float32)
        case.node.add(name=f"in{number}", op="Const").attr["value"].tensor.CopyFrom(
            tf.make_tensor_proto(value))
        case.node[0].input.append(f"in{number}")
    runtime, oracle = _Worker(comparing.WAYS, [1.0]), _Worker(["tensorflow"], [2.0])
    assert comparing.Comparison(runtime, oracle).judge(case).kind == kind


@pytest.mark.parametrize("noise, kind", [("zero", "value"), ("gaussian", "skipped"), ("", "skipped")])
def test_noise_without_a_seed_is_not_compared(noise, kind):
    case = _case("ExtractGlimpse")
    case.node[0].attr["noise"].s = noise.encode()
    runtime, oracle = _Worker(comparing.WAYS, [1.0]), _Worker(["tensorflow"], [2.0])
    assert comparing.Comparison(runtime, oracle).judge(case).kind == kind


@pytest.mark.parametrize(
    "matrix, kind",
    [
        ([[1, 1], [1, 1]], "skipped"),
        ([[0, 0], [0, 0]], "skipped"),
        ([[1, 1], [1, 1 + 1e-7]], "skipped"),
        ([[1, 1], [1, 1.01]], "value"),
        ([[[2, 0], [0, 2]], [[1, 2], [2, 4]]], "skipped"),
        ([[1e-20, 0], [0, 1e-20]], "value"),
        ([[np.inf, 0], [0, 1]], "value"),
        (np.zeros((0, 0)), "value"),
    ],
)
@pytest.mark.parametrize("op", ["MatrixLogarithm", "MatrixSquareRoot"])
def test_roots_and_logarithms_of_singular_matrices_are_not_compared(op, matrix, kind):
    case = _case(op)
    case.node.add(name="in0", op="Const").attr["value"].tensor.CopyFrom(
        tf.make_tensor_proto(np.array(matrix, np.float32)))
    case.node[0].input.append("in0")
    runtime, oracle = _Worker(comparing.WAYS, [1.0]), _Worker(["tensorflow"], [2.0])
    assert comparing.Comparison(runtime, oracle).judge(case).kind == kind


def test_ctc_losses_that_both_refuse_agree():
    runtime = _Worker(comparing.WAYS, [1.0], "INVALID_ARGUMENT")
    oracle = _Worker(["tensorflow"], [1.0], "INVALID_ARGUMENT")
    case = _ctc_case([0, 2, 2], logits_shape=(4, 2))
    assert comparing.Comparison(runtime, oracle).judge(case).kind == ""


def test_tensors_of_more_dimensions_than_numpy_has_are_compared():
    case = _case("Identity")
    tensor = case.node.add(name="many", op="Const").attr["value"].tensor
    tensor.dtype = tf.float32.as_datatype_enum
    for _ in range(70):
        tensor.tensor_shape.dim.add(size=1)
    runtime, oracle = _Worker(comparing.WAYS, [1.0]), _Worker(["tensorflow"], [2.0])
    assert comparing.Comparison(runtime, oracle).judge(case).kind == "value"


def test_another_difference_of_an_op_is_not_the_known_one():
    known = check_random.KnownDifferences()
    text = "want INVALID_ARGUMENT: half cannot be converted to a boolean"
    verdict = comparing.Verdict("missing error", text)
    assert known.reason("ToBool", verdict)
    assert not known.reason("ToBool", comparing.Verdict("missing error", "want ABORTED"))
    assert not known.reason("ToBool", comparing.Verdict("value", text))
