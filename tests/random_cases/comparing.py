"""Runs a case on the runtime and on TensorFlow, and says how they differ."""

import dataclasses
import re

import numpy as np
import tensorflow as tf

from conformance import tensors
from random_cases import messages, tolerances
from tensorflow.core.framework import tensor_pb2, types_pb2

WAYS = ("optimized", "dataflow")

_COMPLEX = (types_pb2.DT_COMPLEX64, types_pb2.DT_COMPLEX128)

# How TensorFlow says that it has no kernel for a node.
_TENSORFLOW_LACKS = ("No OpKernel was registered", "No registered '", "Op type not registered",
                     "Could not find device", "It has been removed in version",
                     "parallel_stack which could not be properly replaced")
# How its kernels say that they lack a data format or so many dimensions.
_TENSORFLOW_LACKS_LAYOUT = re.compile(
    r"only support(s|ed)?( for)? ND?HWC|Only tensors with ranks between 1 and 5|"
    r"inputs rank not in \[0,5\]|Only ranks up to 6")
# What TensorFlow's errors of kernels that ran have in them, and those of making functions have not.
_OF_KERNEL = "Detected at node"
# How TensorFlow ends the errors of its shape functions, which know the shapes of constants.
_OF_SHAPE_FUNCTION = "with input shapes: "
_RUNTIME_LACKS = "no kernel"


# Outputs that are not compared: reserved ones, and vectors of any length and sign, which TensorFlow
# leaves unset where they are not asked for.
_RESERVED = (3, 4, 5)
_NOT_COMPARED = {
    "FusedBatchNorm": _RESERVED,
    "FusedBatchNormV2": _RESERVED,
    "FusedBatchNormV3": _RESERVED,
    "Eig": (1,),
    "SelfAdjointEigV2": (1,),
    "Svd": (1, 2),
    "XlaSvd": (1, 2),
}
# Ops that give a triangular factor L of their argument. The last pivot of a matrix that is almost
# singular is nothing but rounding, and falls as the processor multiplies and adds, so that factors
# that differ are the same ones if L times its conjugate transpose agrees.
_FACTORS = ("BatchCholesky", "Cholesky")
# Ops that solve a triangular system. A small pivot magnifies rounding errors beyond any tolerance, so
# that solutions that differ are alike if each solves the system as well as substitution does.
_SOLUTIONS = ("BatchMatrixTriangularSolve", "MatrixTriangularSolve")


@dataclasses.dataclass
class Verdict:
    """`kind` is empty if there is no difference; "skipped" if the two cannot be compared."""

    kind: str = ""
    text: str = ""
    both_ways: bool = False  # it differs with and without optimizer passes


def calls(case):
    return [node for node in case.node if node.name.startswith("op")]


def is_in_order(case):
    """Whether the calls wait for one another: what they do to a resource is part of the result."""
    return any(node.name == "plan" and node.attr["_in_order"].b for node in case.node)


# Ops that only run functions.
_CALLERS = ("Case", "If", "PartitionedCall", "StatefulPartitionedCall", "StatelessCase", "StatelessIf",
            "StatelessWhile", "While")


def ops(case):
    """What the case computes with: the ops of its calls, and of the functions that calls were moved
    into."""
    found = {node.op for node in calls(case)}
    if found.intersection(_CALLERS):
        found.update(node.op for function in case.library.function
                     if function.signature.name.startswith("outlined")
                     for node in function.node_def if node.name.startswith("op"))
    return sorted(found.difference(_CALLERS))


def _calls_functions(case):
    return any(node.op in _CALLERS for node in calls(case))


def fetches(case):
    return [name.decode() for node in case.node if node.name == "plan"
            for name in node.attr["_fetch"].list.s]


# Ops whose results TensorFlow leaves unset where there is nothing to compute with, and which of
# their inputs is empty then.
_LEFT_UNSET = {
    "IRFFT": 0,
    "MatrixSolveLs": 0,
    "SparseSegmentMeanGrad": 1,
    "SparseSegmentSqrtNGrad": 1,
    "SparseSegmentSumGrad": 1,
}


def _constants(case):
    return {node.name: node.attr["value"].tensor for node in case.node if node.op == "Const"}


def _leaves_results_unset(case):
    constants = _constants(case)
    for node in case.node:
        if node.op not in _LEFT_UNSET:
            continue
        empty = constants.get(node.input[_LEFT_UNSET[node.op]])
        if empty is not None and any(dim.size == 0 for dim in empty.tensor_shape.dim):
            return True
    return False


def _draws_noise(case):
    """Whether a glimpse reaches beyond its image with other noise than zeros: it has no seed."""
    nodes = list(case.node)
    for function in case.library.function:
        nodes.extend(function.node_def)
    return any(node.op in ("ExtractGlimpse", "ExtractGlimpseV2") and
               node.attr["noise"].s != b"zero" for node in nodes)


def _has_labels_that_are_all_blank(case):
    """Whether a sequence of labels of a CTCLoss is nothing but blanks: TensorFlow writes behind its
    tensors then."""
    constants = _constants(case)
    for node in case.node:
        if node.op != "CTCLoss" or any(name not in constants for name in node.input[:3]):
            continue
        logits, indices, labels = (tf.make_ndarray(constants[name]) for name in node.input[:3])
        blank = logits.shape[2] - 1
        for sequence in np.unique(indices[:, 0]):
            if (labels[indices[:, 0] == sequence] >= blank).all():
                return True
    return False


def _has_function_of_singular_matrix(case):
    """Whether a MatrixSquareRoot or MatrixLogarithm gets a matrix with an eigenvalue that is zero but
    for rounding: how large its root or logarithm is, and whether it has one, is up to the rounding
    errors."""
    constants = _constants(case)
    for node in case.node:
        if node.op not in ("MatrixLogarithm", "MatrixSquareRoot") or (
                node.input[0] not in constants):
            continue
        matrices = tf.make_ndarray(constants[node.input[0]])
        if matrices.size == 0 or not np.isfinite(matrices).all():
            continue
        values = np.linalg.svd(matrices, compute_uv=False)
        rounding = matrices.shape[-1] * np.finfo(matrices.dtype).eps
        if (values.min(axis=-1) <= rounding * values.max(axis=-1)).any():
            return True
    return False


def _is_solution(case, name, result):
    """Whether the result of a triangular solve leaves no larger residual than substitution may: it
    solves exactly a system in which each coefficient differs by as many roundings as there are rows."""
    node = next(node for node in calls(case) if node.name == name)
    constants = _constants(case)
    if any(given not in constants for given in node.input[:2]):
        return False
    matrix, sides = (tf.make_ndarray(constants[given]) for given in node.input[:2])
    solution = tensors.decode(result)
    is_complex = np.iscomplexobj(matrix)
    rounding = matrix.shape[-1] * np.finfo(matrix.dtype).eps * (4 if is_complex else 1)
    wide = np.complex128 if is_complex else np.float64
    lower = "lower" not in node.attr or node.attr["lower"].b
    triangle = (np.tril if lower else np.triu)(matrix.astype(wide))
    if node.attr["adjoint"].b:
        triangle = triangle.conj().swapaxes(-1, -2)
    with np.errstate(invalid="ignore", over="ignore"):
        residual = np.abs(triangle @ solution.astype(wide) - sides)
        allowed = rounding * (np.abs(triangle) @ np.abs(solution.astype(wide)))
        return bool((residual <= allowed).all())


class Comparison:
    """Of what the two processes give. `tensorflow_result` is TensorFlow's of the last case, None if it
    crashed."""

    def __init__(self, runtime, tensorflow):
        self._runtime = runtime
        self._tensorflow = tensorflow
        self.tensorflow_result = None

    def judge(self, case):
        """The verdict on one case."""
        self._runtime.send(case)
        self._tensorflow.send(case)
        try:
            answer = self._runtime.receive()
        except messages.Crashed as crash:
            answer = crash
        try:
            wanted = messages.result_of(self._tensorflow.receive(), "tensorflow")
        except messages.Crashed:
            wanted = None
        self.tensorflow_result = wanted
        if isinstance(answer, messages.TimedOut) and wanted is None:
            return Verdict("skipped", "neither answers in time")
        if isinstance(answer, messages.Crashed):
            return Verdict("crash", str(answer))
        if wanted is None:
            return Verdict("skipped", "TensorFlow crashes")
        verdicts = {
            way: self._compare(case, messages.result_of(answer, way), wanted) for way in WAYS
        }
        differing = [way for way, verdict in verdicts.items() if verdict.kind]
        if not differing:
            for node in answer.node:
                if node.name == "shapes":
                    message = node.attr["_message"].s.decode(errors="replace")
                    return Verdict("shape function", message)
            return Verdict()
        verdict = verdicts[differing[0]]
        verdict.both_ways = len(differing) == len(WAYS)
        if verdict.both_ways and verdict.kind == "value" and len(ops(case)) > 1:
            # Rounding errors add up in both ways alike.
            optimized, dataflow = (messages.result_of(answer, way) for way in WAYS)
            between = self._compare(case, optimized, dataflow)
            if between.kind:
                return Verdict("value by passes", between.text)
        return verdict

    @staticmethod
    def _compare(case, got, wanted):
        if any(messages.TOO_LARGE in result.message for result in (got, wanted)):
            return Verdict("skipped", f"the outputs are {messages.TOO_LARGE}")
        if any(text in wanted.message for text in _TENSORFLOW_LACKS) or (
                _TENSORFLOW_LACKS_LAYOUT.search(wanted.message)):
            return Verdict("skipped", "TensorFlow has no kernel for it")
        if got.error == "NOT_FOUND" and _RUNTIME_LACKS in got.message:
            return Verdict("skipped", "no kernel: " + got.message.partition("no kernel")[2][:80])
        if got.error and not wanted.error:
            return Verdict("unexpected error", f"{got.error}: {got.message}")
        if wanted.error != got.error and _OF_SHAPE_FUNCTION in wanted.message:
            return Verdict("skipped", "a shape function of TensorFlow refuses it before the run")
        if wanted.error and not got.error and _calls_functions(case) and (
                _OF_KERNEL not in wanted.message):
            return Verdict("skipped", "TensorFlow refuses an op that no branch or loop runs")
        if wanted.error and not got.error:
            return Verdict("missing error", f"want {wanted.error}: {wanted.message[:300]}")
        if wanted.error != got.error:
            text = f"{got.error}: {got.message}; want {wanted.error}: {wanted.message[:300]}"
            return Verdict("other error", text)
        if wanted.error:
            return Verdict()
        if _has_labels_that_are_all_blank(case):
            return Verdict("skipped", "TensorFlow writes behind its tensors for blank labels")
        if _leaves_results_unset(case):
            return Verdict("skipped", "TensorFlow leaves results unset where there is nothing to add up")
        if _draws_noise(case):
            return Verdict("skipped", "noise without a seed is drawn")
        if _has_function_of_singular_matrix(case):
            return Verdict(
                "skipped", "the root or logarithm of an eigenvalue that is zero magnifies rounding errors")
        took_part = ops(case)
        op_of = {node.name: node.op for node in case.node}
        for name, mine, other in zip(fetches(case), got.tensors, wanted.tensors):
            node, _, output = name.partition(":")
            if int(output) in _NOT_COMPARED.get(op_of[node], ()):
                continue
            difference = first_difference(mine, other, took_part)
            if difference and op_of[node] in _FACTORS:
                difference = first_difference_of_products(mine, other, took_part)
            if difference and op_of[node] in _SOLUTIONS and (
                    all(_is_solution(case, node, result) for result in (mine, other))):
                continue
            if difference:
                dtype = types_pb2.DataType.Name(other.dtype).removeprefix("DT_").lower()
                return Verdict("value", f"{name} of {dtype}: {difference}")
        return Verdict()


def first_difference(got, want, took_part):
    """What differs first in two tensors that come from calls of some ops; None where nothing does."""
    try:
        tensors.decode(want)
    except ValueError:  # a dtype that numpy does not know
        same = (got.dtype, got.tensor_content, got.tensor_shape) == (
            want.dtype, want.tensor_content, want.tensor_shape)
        return None if same else f"other bytes of {types_pb2.DataType.Name(want.dtype)}"
    if want.dtype in _COMPLEX and got.tensor_shape == want.tensor_shape:
        got = _with_infinities_of(got, want)
    return tensors.first_difference(got, want, tolerances.of(took_part, want.dtype))


def _with_infinities_of(got, want):
    """`got` with what `want` has where neither is finite: TensorFlow multiplies and divides complex
    infinities part by part or as C does, as the length of its vectors falls."""
    mine, other = tensors.decode(got), tensors.decode(want)
    proto = tensor_pb2.TensorProto(dtype=got.dtype, tensor_shape=got.tensor_shape)
    neither = ~np.isfinite(mine) & ~np.isfinite(other)
    proto.tensor_content = np.where(neither, other, mine).astype(mine.dtype).tobytes()
    return proto


def first_difference_of_products(got, want, took_part):
    """What differs first between the products of two factors with their conjugate transposes, at the
    tolerance of the factors in relation to the largest element of a product."""
    if (got.dtype, got.tensor_shape) != (want.dtype, want.tensor_shape):
        return first_difference(got, want, took_part)
    factors = [tensors.decode(proto) for proto in (got, want)]
    wide = np.complex128 if np.iscomplexobj(factors[0]) else np.float64
    products = [factor.astype(wide) @ factor.astype(wide).conj().swapaxes(-1, -2)
                for factor in factors]
    tolerance = tolerances.of(took_part, want.dtype)
    largest = np.abs(products[1]).max(axis=(-1, -2), keepdims=True, initial=0)
    with np.errstate(invalid="ignore"):
        close = np.abs(products[0] - products[1]) <= tolerance.rtol * largest
    if close.all():
        return None
    return "products: " + first_difference(got, want, took_part)
