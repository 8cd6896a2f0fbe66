"""How far results of an op may be from TensorFlow's: what the golden corpus allows its recorded calls."""

import functools
import pathlib

from tensorflow.core.framework import graph_pb2, types_pb2

from conformance.tensors import Tolerance

_GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "data" / "golden"

_HALF = (types_pb2.DT_HALF, types_pb2.DT_BFLOAT16)
_DOUBLE = (types_pb2.DT_DOUBLE, types_pb2.DT_COMPLEX128)


def default(dtype):
    """The corpus's tolerance, relative and absolute, of calls that have none of their own."""
    return 1e-2 if dtype in _HALF else 1e-12 if dtype in _DOUBLE else 1e-5


@functools.cache
def _recorded(op):
    """The largest tolerances of the op's recorded calls: {dtype of an output: (rtol, atol)}."""
    largest = {}
    for folder in (_GOLDEN / "ops", _GOLDEN / "made" / "ops"):
        path = folder / f"{op}.pb"
        if not path.exists():
            continue
        nodes = {node.name: node for node in graph_pb2.GraphDef.FromString(path.read_bytes()).node}
        for name, node in nodes.items():
            number, _, part = name.partition("/")
            if not part.startswith("out"):
                continue
            call = nodes[f"{number}/op"]
            dtype = node.attr["dtype"].type
            own = [
                call.attr[attr].f if attr in call.attr else default(dtype)
                for attr in ("_rtol", "_atol")
            ]
            before = largest.get(dtype, (0, 0))
            largest[dtype] = (max(before[0], own[0]), max(before[1], own[1]))
    return largest


def of(ops, dtype):
    """The tolerance of an output that the ops took part in."""
    pairs = [_recorded(op).get(dtype, (0, 0)) for op in ops]
    least = default(dtype)
    return Tolerance(
        rtol=max([least] + [rtol for rtol, _ in pairs]),
        atol=max([least] + [atol for _, atol in pairs]),
    )
