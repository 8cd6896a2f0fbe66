"""Making a case smaller with what TensorFlow gives for its calls, and without."""

import tensorflow as tf

from random_cases import comparing, minimising
from tensorflow.core.framework import graph_pb2


def _chain():
    """Two calls without a data edge between them: the second one waits for the first."""
    case = graph_pb2.GraphDef()
    case.node.add(name="in0", op="Const").attr["value"].tensor.CopyFrom(tf.make_tensor_proto(1.0))
    for name in ("op0", "op1"):
        call = case.node.add(name=name, op="Neg", input=["in0"])
        call.attr["T"].type = tf.float32.as_datatype_enum
    case.node[-1].input.append("^op0")
    case.node.add(name="plan", op="NoOp").attr["_fetch"].list.s.append(b"op1:0")
    return case


def _ops_of_smaller(values):
    return [[node.name for node in smaller.node] for smaller in
            minimising._smaller_graphs(_chain(), values)]


def test_a_call_gives_way_to_its_value():
    assert _ops_of_smaller({"op0:0": tf.make_tensor_proto(-1.0)}) == [["in0", "op1", "plan"]]


def test_without_values_a_call_stays():
    assert _ops_of_smaller({}) == []


class _AlwaysDiffers:
    """A comparison in which every case differs."""

    def judge(self, _case):
        return comparing.Verdict("value")


def test_a_sequence_loses_only_what_comes_after_the_difference():
    case = _chain()
    case.node.add(name="op2", op="Neg", input=["in0", "^op1"]).attr["T"].type = (
        tf.float32.as_datatype_enum)
    plan = next(node for node in case.node if node.name == "plan")
    plan.attr["_fetch"].list.s.append(b"op2:0")
    plan.attr["_in_order"].b = True
    smaller, verdict = minimising.smallest(_AlwaysDiffers(), case, comparing.Verdict("value"))
    assert verdict.kind == "value"
    assert [node.name for node in comparing.calls(smaller)] == ["op0", "op1"]
