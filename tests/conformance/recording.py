"""Records calls of single ops as TensorFlow computes them, in the format of tests/data/golden.

    file = recording.OpFile("MaxPool")
    file.add([images], T=tf.float32, ksize=[1, 1, 1, 2], strides=[1, 1, 1, 2], padding="VALID")
    file.write(directory)           # directory/MaxPool.pb

Inputs are fed to placeholders of unknown shape, so that errors come from the kernels. TensorFlow
computes with its own kernels, without oneDNN and without its graph optimisers: start Python with
TF_ENABLE_ONEDNN_OPTS=0, as tests/data/record does.
"""

import os
import pathlib

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2, node_def_pb2, tensor_pb2
from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2
from tensorflow.python.framework import errors, op_def_registry

if os.environ.get("TF_ENABLE_ONEDNN_OPTS") != "0":
    raise ImportError("recording needs TF_ENABLE_ONEDNN_OPTS=0 in the environment")

# What the attributes of an op are called in an AttrValue, by their type in its declaration.
_FIELDS = {"int": "i", "float": "f", "bool": "b", "type": "type", "string": "s", "shape": "shape"}


def session_config():
    """One thread, and the graph as it was written."""
    off = rewriter_config_pb2.RewriterConfig.OFF
    config = config_pb2.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.rewrite_options.constant_folding = off
    config.graph_options.optimizer_options.opt_level = config_pb2.OptimizerOptions.L0
    return config


def tensor_proto(value, dtype):
    """The TensorProto of an array of TensorFlow's dtype, which numpy may know by another name."""
    if dtype == tf.string:
        return tf.make_tensor_proto(value, dtype)
    proto = tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum)
    for size in value.shape:
        proto.tensor_shape.dim.add(size=size)
    proto.tensor_content = value.tobytes()
    return proto


def add_const(graph, name, value, dtype=None):
    """Adds a constant node to the GraphDef; without a dtype it has that of the array."""
    node = graph.node.add(name=name, op="Const")
    proto = tensor_proto(value, dtype or tf.as_dtype(value.dtype))
    node.attr["dtype"].type = proto.dtype
    node.attr["value"].tensor.CopyFrom(proto)
    return node


def make_node(op, name, inputs, attrs):
    """A NodeDef with all attributes of its declaration, defaults included."""
    declaration = op_def_registry.get(op)
    unknown = set(attrs) - {attr.name for attr in declaration.attr}
    if unknown:
        raise ValueError(f"{op} has no attributes {sorted(unknown)}")
    node = node_def_pb2.NodeDef(op=op, name=name, input=inputs)
    for attr in declaration.attr:
        if attr.name not in attrs:
            if attr.HasField("default_value"):
                node.attr[attr.name].CopyFrom(attr.default_value)
            continue
        _set_attr(node.attr[attr.name], attr.type, attrs[attr.name])
    return node


def _set_attr(attr, kind, value):
    def plain(item):
        if kind.endswith("type") or kind == "list(type)":
            return tf.as_dtype(item).as_datatype_enum
        return item.encode() if isinstance(item, str) else item

    if kind.startswith("list("):
        attr.list.SetInParent()
        getattr(attr.list, _FIELDS[kind[5:-1]]).extend(plain(item) for item in value)
    elif kind == "shape":
        attr.shape.CopyFrom(tf.TensorShape(value).as_proto())
    else:
        setattr(attr, _FIELDS[kind], plain(value))


def share_inputs(graph):
    """Removes each input of a call that an earlier call of the file has as well: the node of the later
    call names the constant of the earlier one. The inputs of one call stay apart from each other."""
    nodes = {node.name: node for node in graph.node}
    earlier = {}
    removed = set()
    for number in range(sum(name.endswith("/op") for name in nodes)):
        call = nodes[f"{number}/op"]
        own = {name: nodes[name].attr["value"].tensor.SerializeToString(deterministic=True)
               for name in call.input}
        for i, name in enumerate(call.input):
            shared = earlier.get(own[name])
            if shared is not None and shared not in call.input:
                call.input[i] = shared
                removed.add(name)
        for name, value in own.items():
            earlier.setdefault(value, name)
    kept = [node for node in graph.node if node.name not in removed]
    del graph.node[:]
    graph.node.extend(kept)


class OpFile:
    """The recorded calls of one op; `compiled` ones by XLA, for ops that have no other kernel.

    `run` takes the place of run_node(), for ops that TensorFlow declares and cannot run; `producer`
    is the version of the graph, for ops that newer ones may not have.
    """

    def __init__(self, op, compiled=False, run=None, producer=tf.version.GRAPH_DEF_VERSION):
        self._op = op
        self._run = run or (_run_compiled if compiled else run_node)
        self._count = 0
        self._graph = graph_pb2.GraphDef()
        self._graph.versions.producer = producer

    def add(self, inputs, rtol=None, atol=None, **attrs):
        """Records one call; `rtol` and `atol` replace the default tolerances."""
        inputs = [np.asarray(value) for value in inputs]
        number = self._count
        self._count += 1
        names = [f"{number}/in{i}" for i in range(len(inputs))]
        node = make_node(self._op, f"{number}/op", names, attrs)
        result = self._run(node, dict(zip(names, inputs)))
        for name, value in zip(names, inputs):
            add_const(self._graph, name, value)
        node.attr["_from"].s = b"tests/data/record"
        if rtol is not None:
            node.attr["_rtol"].f = rtol
        if atol is not None:
            node.attr["_atol"].f = atol
        if isinstance(result, str):
            node.attr["_error"].s = result.encode()
        else:
            for i, (value, dtype) in enumerate(result):
                add_const(self._graph, f"{number}/out{i}", value, dtype)
        self._graph.node.append(node)

    def write(self, directory):
        """Writes DIRECTORY/OP.pb."""
        path = pathlib.Path(directory) / f"{self._op}.pb"
        path.parent.mkdir(parents=True, exist_ok=True)
        share_inputs(self._graph)
        path.write_bytes(self._graph.SerializeToString(deterministic=True))
        return path


def run_node(node, inputs):
    """The outputs of the node with their dtypes, or the name of the code of TensorFlow's error."""
    graph_def = graph_pb2.GraphDef()
    graph_def.versions.producer = tf.version.GRAPH_DEF_VERSION
    for name, value in inputs.items():
        placeholder = graph_def.node.add(name=name, op="Placeholder")
        placeholder.attr["dtype"].type = tf.as_dtype(value.dtype).as_datatype_enum
        placeholder.attr["shape"].shape.unknown_rank = True
    graph_def.node.append(node)
    with tf.Graph().as_default() as graph:
        try:
            tf.import_graph_def(graph_def, name="")
        except ValueError:  # how Python shows INVALID_ARGUMENT of the importer
            return "INVALID_ARGUMENT"
        outputs = graph.get_operation_by_name(node.name).outputs
        with tf.compat.v1.Session(config=session_config()) as session:
            feeds = {f"{name}:0": value for name, value in inputs.items()}
            try:
                values = session.run(list(outputs), feeds)
            except errors.OpError as error:
                return error_name(error)
    return [(value, output.dtype) for value, output in zip(values, outputs)]


def _run_compiled(node, inputs):
    """What run_node() gives, computed by XLA. The inputs are constants, as shapes and sizes must be."""
    graph_def = graph_pb2.GraphDef()
    graph_def.versions.producer = tf.version.GRAPH_DEF_VERSION
    for name, value in inputs.items():
        add_const(graph_def, name, value)
    graph_def.node.append(node)

    @tf.function(jit_compile=True)
    def call():
        count = len(op_def_registry.get(node.op).output_arg)
        names = [f"{node.name}:{i}" for i in range(count)]
        return tf.import_graph_def(graph_def, name="", return_elements=names)

    try:
        return [(value.numpy(), value.dtype) for value in call()]
    except ValueError:
        return "INVALID_ARGUMENT"
    except errors.OpError as error:
        return error_name(error)


def error_name(error):
    """The name of the code of an error, such as "INVALID_ARGUMENT"."""
    names = {value: name for name, value in vars(errors).items() if isinstance(value, int)}
    return names[error.error_code]
