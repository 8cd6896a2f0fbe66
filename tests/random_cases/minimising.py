"""Makes a case that differs smaller: one call of one op with small inputs, if that differs as well."""

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2, node_def_pb2, types_pb2
from tensorflow.python.framework import op_def_registry, tensor_util

from random_cases import comparing

_NOT_FETCHED = (types_pb2.DT_RESOURCE, types_pb2.DT_VARIANT)


def _fetchable_outputs(node):
    """The positions of the node's outputs that have values."""
    types = []
    for arg in op_def_registry.get(node.op).output_arg:
        if arg.type_list_attr:
            types += node.attr[arg.type_list_attr].list.type
        else:
            dtype = node.attr[arg.type_attr].type if arg.type_attr else arg.type
            types += [dtype] * (node.attr[arg.number_attr].i if arg.number_attr else 1)
    return [i for i, dtype in enumerate(types) if dtype not in _NOT_FETCHED]


def _tensor_name(name):
    return name if ":" in name else name + ":0"


def one_call(case, node, values):
    """The case of one call of a larger one, with `values` for its inputs; None if one is missing."""
    single = graph_pb2.GraphDef(versions=case.versions, library=case.library)
    copy = node_def_pb2.NodeDef()
    copy.CopyFrom(node)
    del copy.input[:]
    for i, name in enumerate(name for name in node.input if not name.startswith("^")):
        value = values.get(_tensor_name(name))
        if value is None:
            return None
        constant = single.node.add(name=f"in{i}", op="Const")
        constant.attr["dtype"].type = value.dtype
        constant.attr["value"].tensor.CopyFrom(value)
        copy.input.append(constant.name)
    single.node.append(copy)
    plan = single.node.add(name="plan", op="NoOp")
    plan.attr["_fetch"].list.s.extend(
        f"{node.name}:{i}".encode() for i in _fetchable_outputs(node))
    plan.attr["_target"].list.s.append(node.name.encode())
    return single


def _constants(case):
    return {node.name + ":0": node.attr["value"].tensor for node in case.node if node.op == "Const"}


def first_differing_call(comparison, case):
    """The case of the first call that differs when TensorFlow's values go in, and the verdict on it;
    None if none does."""
    values = _constants(case)
    for node in comparing.calls(case):
        single = one_call(case, node, values)
        if single is None:
            continue
        verdict = comparison.judge(single)
        if verdict.kind not in ("", "skipped"):
            return single, verdict
        result = comparison.tensorflow_result
        if result is not None:
            values.update(zip(comparing.fetches(single), result.tensors))
    return None


def _pruned(case, fetches):
    """The case with these fetches alone, and the nodes that they need."""
    nodes = {node.name: node for node in case.node}
    needed = {"plan"}
    open_ends = [name.partition(":")[0] for name in fetches]
    while open_ends:
        name = open_ends.pop()
        if name not in needed and name in nodes:
            needed.add(name)
            open_ends += [name.lstrip("^").partition(":")[0] for name in nodes[name].input]
    smaller = graph_pb2.GraphDef(versions=case.versions, library=case.library)
    smaller.node.extend(node for node in case.node if node.name in needed)
    plan = next(node for node in smaller.node if node.name == "plan")
    plan.attr["_fetch"].list.s[:] = [name.encode() for name in fetches]
    plan.attr["_target"].list.s[:] = [
        node.name.encode() for node in comparing.calls(smaller)]
    return smaller


def _values_of_calls(comparison, case):
    """What TensorFlow gives for each output of the calls: {name: TensorProto}."""
    names = [f"{node.name}:{i}" for node in comparing.calls(case) for i in _fetchable_outputs(node)]
    comparison.judge(_pruned(case, names))
    result = comparison.tensorflow_result
    return {} if result is None else dict(zip(names, result.tensors))


def _smaller_graphs(case, values):
    """Cases with fewer fetches, or with the value of a call in place of it."""
    fetches = comparing.fetches(case)
    if len(fetches) > 1:
        for name in fetches:
            yield _pruned(case, [name])
    for call in comparing.calls(case):
        if any(name.partition(":")[0] == call.name for name in fetches):
            continue
        smaller = graph_pb2.GraphDef()
        smaller.CopyFrom(case)
        known = True
        for node in smaller.node:
            for i, name in enumerate(node.input):
                if name == "^" + call.name:
                    node.input[i] = ""
                elif name.partition(":")[0] == call.name:
                    value = values.get(_tensor_name(name))
                    known = known and value is not None
                    node.input[i] = "in_" + _tensor_name(name).replace(":", "_")
            node.input[:] = [name for name in node.input if name]
        outputs = [(i, values.get(f"{call.name}:{i}")) for i in _fetchable_outputs(call)]
        if not known or any(value is None for _, value in outputs):
            continue
        for i, value in outputs:
            constant = smaller.node.add(name=f"in_{call.name}_{i}", op="Const")
            constant.attr["dtype"].type = value.dtype
            constant.attr["value"].tensor.CopyFrom(value)
        yield _pruned(smaller, fetches)


def _smallest_graph(comparison, case, verdict):
    """A case of fewer calls that differs in the same way, and the verdict on it."""
    progress = True
    while progress:
        progress = False
        for smaller in _smaller_graphs(case, _values_of_calls(comparison, case)):
            found = comparison.judge(smaller)
            if found.kind == verdict.kind:
                case, verdict, progress = smaller, found, True
                break
    return case, verdict


def _variants(case):
    """Smaller cases: with another size in place of each size of the inputs, with plainer numbers."""
    # Only processes that have switched oneDNN off may import it; comparing needs no such process.
    from conformance import recording  # pylint: disable=import-outside-toplevel

    inputs = [i for i, node in enumerate(case.node) if node.name.startswith("in")]
    arrays = {i: tensor_util.MakeNdarray(case.node[i].attr["value"].tensor) for i in inputs}

    def changed(replacements):
        smaller = graph_pb2.GraphDef()
        smaller.CopyFrom(case)
        for i, array in replacements.items():
            dtype = tf.as_dtype(case.node[i].attr["dtype"].type)
            smaller.node[i].attr["value"].tensor.CopyFrom(recording.tensor_proto(array, dtype))
        return smaller

    sizes = sorted({size for array in arrays.values() for size in array.shape if size > 1})
    for size in sizes:
        for less in {1, 2, size // 2} - {size}:
            cut = {
                i: array[tuple(slice(0, less if n == size else n) for n in array.shape)]
                for i, array in arrays.items()
            }
            yield changed(cut)
    for i, array in arrays.items():
        if array.dtype.kind == "f" and array.size and not (array == 1).all():
            yield changed({i: np.ones_like(array)})
            if not (array == np.round(array)).all():
                yield changed({i: np.round(array)})


def smallest(comparison, case, verdict):
    """A smaller case that differs in the same way, and the verdict on it. Its kind is "skipped" if
    only the calls together differ, for a reason that is no mistake. A sequence only loses what comes
    after the first fetch that differs: the steps before have made the state."""
    if comparing.is_in_order(case):
        for name in comparing.fetches(case):
            smaller = _pruned(case, [name])
            found = comparison.judge(smaller)
            if found.kind == verdict.kind:
                return smaller, found
        return case, verdict
    if len(comparing.calls(case)) > 1:
        first = first_differing_call(comparison, case)
        if first is not None:
            case, verdict = first
    if len(comparing.ops(case)) > 1:
        if verdict.kind == "other error":
            return case, comparing.Verdict("skipped", "several calls fail, another one first")
        if verdict.kind == "value" and verdict.both_ways:
            return case, comparing.Verdict("skipped", "rounding errors of several calls add up")
    if len(comparing.calls(case)) > 1:
        case, verdict = _smallest_graph(comparison, case, verdict)
    progress = len(comparing.calls(case)) == 1
    steps = 0
    while progress and steps < 40:
        progress = False
        for variant in _variants(case):
            steps += 1
            found = comparison.judge(variant)
            if found.kind == verdict.kind:
                case, verdict, progress = variant, found, True
                break
    return case, verdict


def golden(case, result):
    """A case in the format of tests/data/golden/ops, with TensorFlow's result; None if it has several
    calls, a call has functions, or TensorFlow crashes."""
    if len(comparing.calls(case)) != 1 or result is None or comparing.is_in_order(case):
        return None
    node = comparing.calls(case)[0]
    if any(attr.HasField("func") for attr in node.attr.values()):
        return None
    file = graph_pb2.GraphDef(versions=case.versions)
    names = {}
    for constant in case.node:
        if constant.op == "Const":
            names[constant.name] = f"0/in{len(names)}"
            file.node.add().CopyFrom(constant)
            file.node[-1].name = names[constant.name]
    if any(name not in names for name in node.input):
        return None
    call = file.node.add()
    call.CopyFrom(node)
    call.name = "0/op"
    call.input[:] = [names[name] for name in node.input]
    if result.error:
        call.attr["_error"].s = result.error.encode()
    for i, tensor in enumerate(result.tensors):
        output = file.node.add(name=f"0/out{i}", op="Const")
        output.attr["dtype"].type = tensor.dtype
        output.attr["value"].tensor.CopyFrom(tensor)
    return file
