"""Records gradients as TensorFlow computes them.

    file = GradientFile("math")
    file.op("Tanh", [x])                                  # the gradient of one op
    file.raw(lambda a, b: tf.matmul(a, b), [a, b])        # of whatever a function builds
    file.write(directory)                                 # directory/math.pb

A file is a GraphDef with all cases. Case `k` is a NoOp `k/case`, whose attributes name tensors of
the graph: `_ys` and `_dys`, the gradients that come in for them; `_xs`; `_want`, constants with the
gradients that TensorFlow adds for these, or nothing where it adds none; `_init`, the nodes to run
before. Sparse gradients are recorded dense. `_rtol` and `_atol` replace the default tolerances.
"""

import pathlib

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2

from conformance import recording


def random(seed, *shape, dtype=np.float32):
    """Numbers from a normal distribution, of which few are near to 0."""
    values = np.random.RandomState(seed).standard_normal(shape)
    return (values + 0.3 * np.sign(values)).astype(dtype)


class GradientFile:
    """Cases that share a graph. `producer` is the graph's version, for ops that newer ones may not
    have."""

    def __init__(self, name, control_flow_v2=False, producer=tf.version.GRAPH_DEF_VERSION):
        self._name = name
        self._v2 = control_flow_v2
        self._count = 0
        self._graph = tf.Graph()
        with self._graph.as_default():
            tf.import_graph_def(graph_pb2.GraphDef(versions={"producer": producer}))
        self._cases = []  # what _record() needs, by case

    def op(self, name, inputs, attrs=None, **options):
        """The gradient of one op with respect to all inputs that have one."""

        def call(*tensors):
            node = tf.compat.v1.get_default_graph().create_op(
                name,
                list(tensors),
                _output_types(name, tensors, attrs or {}),
                attrs=_attr_values(name, tensors, attrs or {}),
            )
            return node.outputs

        self.raw(call, inputs, **options)

    def raw(self, build, inputs, oracle=None, **options):
        """The gradient of what build(*tensors) gives; numpy arrays become constants. TensorFlow
        differentiates oracle(*tensors) instead, where it cannot differentiate the op itself."""
        number = self._count
        self._count += 1
        if self._v2:
            tf.compat.v1.enable_control_flow_v2()
        else:
            tf.compat.v1.disable_control_flow_v2()
        with self._graph.as_default(), tf.name_scope(str(number)):
            tensors = [tf.constant(value, name=f"in{i}") for i, value in enumerate(inputs)]
            before = set(tf.compat.v1.global_variables())
            ys = build(*tensors)
            variables = [v for v in tf.compat.v1.global_variables() if v not in before]
            ys = [y for y in tf.nest.flatten(ys) if y is not None and _is_float(y.dtype)]
            xs = [x for x in tensors if _is_float(x.dtype)] + variables
            differentiated = ys if oracle is None else tf.nest.flatten(oracle(*tensors))
            dys = [_incoming(self._graph, y, i, number) for i, y in enumerate(differentiated)]
        self._cases.append((number, ys, differentiated, dys, xs, variables, options))

    def write(self, directory):
        """Writes DIRECTORY/NAME.pb."""
        forward = self._graph.as_graph_def()
        with self._graph.as_default():
            recorded = [(case, self._gradients(case)) for case in self._cases]
            with tf.compat.v1.Session(config=recording.session_config()) as session:
                session.run(tf.compat.v1.global_variables_initializer())
                for case, gradients in recorded:
                    self._record(forward, session, case, gradients)
        path = pathlib.Path(directory) / f"{self._name}.pb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(forward.SerializeToString(deterministic=True))
        return path

    @staticmethod
    def _gradients(case):
        number, _, differentiated, dys, xs, _, _ = case
        try:
            gradients = tf.compat.v1.gradients(differentiated, xs, dys)
        except Exception as error:
            raise ValueError(f"case {number}, {differentiated}: {error}") from error
        return [tf.convert_to_tensor(g) if g is not None else None for g in gradients]

    @staticmethod
    def _record(forward, session, case, gradients):
        number, ys, differentiated, dys, xs, variables, options = case
        if differentiated is not ys:
            for y, other in zip(session.run(ys), session.run(differentiated), strict=True):
                np.testing.assert_allclose(y, other, rtol=1e-4, atol=1e-5)
        values = session.run([g for g in gradients if g is not None])
        node = forward.node.add(name=f"{number}/case", op="NoOp")
        values = iter(values)
        wanted = []
        for i, gradient in enumerate(gradients):
            wanted.append(b"")
            if gradient is not None:
                wanted[-1] = f"{number}/want{i}".encode()
                recording.add_const(forward, f"{number}/want{i}", next(values), gradient.dtype)
        handles = [x.handle if hasattr(x, "handle") else x for x in xs]
        node.attr["_ys"].list.s.extend(y.name.encode() for y in ys)
        node.attr["_dys"].list.s.extend(dy.name.encode() for dy in dys)
        node.attr["_xs"].list.s.extend(
            (x.name if isinstance(x, tf.Tensor) else x._ref().name).encode() for x in handles
        )
        node.attr["_want"].list.s.extend(wanted)
        node.attr["_init"].list.s.extend(v.initializer.name.encode() for v in variables)
        for name in ("rtol", "atol"):
            if name in options:
                node.attr[f"_{name}"].f = options[name]


def _is_float(dtype):
    return dtype.is_floating or dtype.is_complex


def _incoming(graph, y, i, number):
    """A constant for the gradient of y, whose shape TensorFlow computes."""
    with tf.compat.v1.Session(graph=graph, config=recording.session_config()) as session:
        session.run(tf.compat.v1.global_variables_initializer())
        shape = session.run(tf.shape(y))
    dtype = y.dtype.base_dtype
    value = random(1000 + 10 * number + i, *shape)
    if dtype.is_complex:
        value = value + 1j * random(2000 + 10 * number + i, *shape)
    return tf.constant(value, dtype, name=f"dy{i}")


def _attr_values(op, tensors, attrs):
    node = recording.make_node(op, "n", [], _complete(op, tensors, attrs))
    return {name: value for name, value in node.attr.items()}


def _complete(op, tensors, attrs):
    """Adds the attributes that the dtypes and the number of the inputs decide."""
    declaration = recording.op_def_registry.get(op)
    attrs = dict(attrs)
    position = 0
    lists = [arg for arg in declaration.input_arg if arg.number_attr or arg.type_list_attr]
    fixed = len(declaration.input_arg) - len(lists)
    for arg in declaration.input_arg:
        count = 1
        if arg.number_attr:
            attrs.setdefault(arg.number_attr, len(tensors) - fixed)
            count = attrs[arg.number_attr]
        if arg.type_attr:
            attrs.setdefault(arg.type_attr, tensors[position].dtype)
        position += count
    return attrs


def _output_types(op, tensors, attrs):
    declaration = recording.op_def_registry.get(op)
    attrs = _complete(op, tensors, attrs)
    defaults = {a.name: a.default_value.type for a in declaration.attr if a.type == "type"}
    types = []
    for arg in declaration.output_arg:
        count = attrs[arg.number_attr] if arg.number_attr else 1
        dtype = attrs.get(arg.type_attr, defaults.get(arg.type_attr)) if arg.type_attr else arg.type
        types += [tf.as_dtype(dtype)] * count
    return types
