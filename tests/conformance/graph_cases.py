"""Graphs with state that the shared corpus lacks; tests/data/record lets TensorFlow run them.

Each case is a function that builds a graph in the default graph and returns a Plan.
"""

import dataclasses
import itertools
import pathlib

import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops
from tensorflow.python.framework import errors, op_def_registry

from conformance.recording import add_const, error_name, session_config

raw = tf.raw_ops
FLOATS = (tf.float32, tf.float64)
NARROW = (tf.half, tf.bfloat16)
COMPLEX = (tf.complex64, tf.complex128)


@dataclasses.dataclass
class Plan:
    """What to run: operations one at a time, and then all of `expect` in one run."""

    runs: list
    expect: list = dataclasses.field(default_factory=list)


def _values(seed, dtype, *shape):
    random = np.random.RandomState(seed)
    values = random.standard_normal(shape)
    if dtype.is_complex:
        values = values + 1j * random.standard_normal(shape)
    return values.astype(dtype.as_numpy_dtype)


def _variable(value, dtype):
    """The handle of a variable, and the operation that gives it its value."""
    handle = raw.VarHandleOp(dtype=dtype, shape=value.shape, shared_name=_unique("var"))
    assign = raw.AssignVariableOp(resource=handle, value=tf.constant(value, dtype))
    return handle, assign


def _unique(prefix):
    return tf.compat.v1.get_default_graph().unique_name(prefix)


# Scalars of optimizers, with which all of them make steps of about the size of a variable.
_SCALARS = {
    "alpha": 0.3,
    "beta": 0.8,
    "beta1": 0.9,
    "beta2": 0.8,
    "beta1_power": 0.5,
    "beta2_power": 0.4,
    "epsilon": 0.125,
    "l1": 0.05,
    "l2": 0.1,
    "l2_shrinkage": 0.2,
    "logbase": 1.0,
    "lr": 0.25,
    "lr_power": -0.5,
    "momentum": 0.75,
    "rho": 0.8,
    "sign_decay": 0.5,
}


def _apply(name, dtype, scalars=(), rows=None, shape=(3, 4), gradient=None, **attrs):
    """An optimizer on variables of its own: (operations that assign them, handles, the update)."""
    scalars = {**_SCALARS, **dict(scalars)}
    inputs, assigns, handles = {}, [], []
    for arg in op_def_registry.get(name).input_arg:
        if arg.type == tf.resource.as_datatype_enum:
            value = _values(len(handles), dtype, *shape)
            if handles:  # slots are sums of squares, and the like
                value = np.abs(value).astype(value.dtype) + value.dtype.type(1)
            handle, assign = _variable(value, dtype)
            handles.append(handle)
            assigns.append(assign)
            inputs[arg.name] = handle
        elif arg.name in ("grad", "delta"):
            if gradient is None:
                gradient = _values(7, dtype, *shape)
                gradient = gradient if rows is None else gradient[: len(rows)]
            inputs[arg.name] = tf.constant(gradient, dtype)
        elif arg.name == "indices":
            inputs[arg.name] = tf.constant(rows, tf.int32)
        elif arg.name == "global_step":
            inputs[arg.name] = tf.constant(3, tf.int64)
        else:
            inputs[arg.name] = tf.constant(np.array(scalars[arg.name]), dtype)
    return assigns, handles, getattr(raw, name)(**inputs, **attrs)


def _optimizer(calls):
    """Runs each of several updates twice."""
    runs, expect = [], []
    for name, dtype, options in calls:
        assigns, handles, update = _apply(name, dtype, **options)
        runs += [*assigns, update, update]
        expect += [raw.ReadVariableOp(resource=handle, dtype=dtype) for handle in handles]
    return Plan(runs, expect)


# The optimizers, by the dtypes that they have besides float and double.
_OPTIMIZERS = {
    "AdaMax": (tf.half,),
    "Adadelta": NARROW + COMPLEX,
    "Adagrad": NARROW + COMPLEX,
    "AdagradDA": (),
    "AdagradV2": NARROW + COMPLEX,
    "Adam": NARROW + COMPLEX,
    "AdamWithAmsgrad": NARROW,
    "AddSign": NARROW,
    "CenteredRMSProp": NARROW + COMPLEX,
    "Ftrl": NARROW,
    "FtrlV2": NARROW,
    "GradientDescent": NARROW + COMPLEX,
    "KerasMomentum": NARROW + COMPLEX,
    "Momentum": NARROW + COMPLEX,
    "PowerSign": NARROW,
    "ProximalAdagrad": (),
    "ProximalGradientDescent": (),
    "RMSProp": NARROW + COMPLEX,
}
_FLAGS = {
    "Adagrad": "update_slots",
    "AdagradV2": "update_slots",
    "Adam": "use_nesterov",
    "Ftrl": "multiply_linear_by_lr",
    "FtrlV2": "multiply_linear_by_lr",
    "KerasMomentum": "use_nesterov",
    "Momentum": "use_nesterov",
}


def _optimizer_calls(name, more_dtypes):
    """Dense and sparse updates of all dtypes, with both values of the flag, and of odd shapes."""
    for dtype, sparse in itertools.product(FLOATS + more_dtypes, (False, True)):
        op = f"ResourceSparseApply{name}" if sparse else f"ResourceApply{name}"
        no_sparse = name.startswith(("AdaM", "Adam", "AddSign", "GradientDescent", "PowerSign"))
        no_bfloat16 = dtype == tf.bfloat16 and name.endswith("RMSProp")
        if sparse and (no_sparse or no_bfloat16):
            continue
        options = {"rows": [2, 0, 2]} if sparse else {}
        flag = _FLAGS.get(name)
        for value in (False, True) if flag else (None,):
            yield op, dtype, {**options, **({flag: value} if flag else {})}
        if dtype != tf.float32:
            continue
        empty = {"rows": []} if sparse else {"shape": (0, 4)}
        yield op, dtype, empty
        yield op, dtype, {"shape": (3,), **options}
        if not sparse:
            yield op, dtype, {"shape": ()}
        gradient = _values(8, dtype, 3, 4)
        gradient[1, 2] = np.nan
        gradient[0, 0] = 0
        # TensorFlow's dense FTRL hides NaN: the variable becomes 0. Here it stays NaN.
        if sparse or not name.startswith("Ftrl"):
            yield op, dtype, {"gradient": gradient, **options}
        if name.startswith("Ftrl"):
            yield op, dtype, {"scalars": {"lr_power": -0.7, "l1": 0.0}, **options}
        if "Proximal" in name:
            yield op, dtype, {"scalars": {"l1": 0.0}, **options}


_MOMENTUM = "ResourceApplyMomentum"
_SPARSE = "ResourceSparseApplyAdagrad"
_SPARSE_FTRL = "ResourceSparseApplyFtrl"


def _refused(name, **options):
    """An update that TensorFlow refuses."""

    def build():
        assigns, _, update = _apply(name, tf.float32, **options)
        return Plan([*assigns, update])

    return build


def _by_reference():
    """A v1 variable, and a moving average that reads it behind its update."""
    v1 = tf.compat.v1
    variable = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
    average = v1.get_variable("average", initializer=[0.0, 0.0], use_resource=False)
    update = v1.train.GradientDescentOptimizer(0.5).apply_gradients(
        [(tf.constant([1.0, 1.0]), variable)]
    )
    read = tf.identity(variable)
    with tf.control_dependencies([update, read]):
        averaged = v1.assign_sub(average, (average - read) * 0.25)
    return Plan([variable.initializer, average.initializer, averaged.op, averaged.op], [average])


def _sparse_accumulator(reduction):
    def build():
        handle = raw.SparseConditionalAccumulator(
            dtype=tf.float32, shape=[5, 2], reduction_type=reduction
        )
        gradients = (
            ([0, 2], [[1, 2], [3, 4]]),
            ([2, 3], [[10, 20], [30, 40]]),
            ([4, 1], [[5, 6], [5, 6]]),
        )
        runs = [
            raw.SparseAccumulatorApplyGradient(
                handle=handle,
                local_step=np.int64(0),
                gradient_indices=np.array(indices, np.int64),
                gradient_values=np.array(values, np.float32),
                gradient_shape=np.array([5, 2], np.int64),
                has_known_shape=True,
            )
            for indices, values in gradients
        ]
        taken = raw.SparseAccumulatorTakeGradient(handle=handle, num_required=3, dtype=tf.float32)
        return Plan(runs, list(taken))

    return build


def _stale_gradients():
    handle = raw.ConditionalAccumulator(dtype=tf.float32, shape=[2], reduction_type="SUM")

    def apply(step, value):
        return raw.AccumulatorApplyGradient(
            handle=handle, local_step=np.int64(step), gradient=np.array(value, np.float32)
        )

    runs = [
        apply(0, [1, 1]),
        raw.AccumulatorSetGlobalStep(handle=handle, new_global_step=np.int64(5)),
        apply(4, [100, 100]),
        apply(5, [2, 3]),
    ]
    return Plan(runs, [raw.AccumulatorNumAccumulated(handle=handle)])


def _accumulator_shape():
    handle = raw.ConditionalAccumulator(dtype=tf.float32, shape=[2])
    return Plan(
        [
            raw.AccumulatorApplyGradient(
                handle=handle, local_step=np.int64(0), gradient=np.ones([3], np.float32)
            )
        ]
    )


def _shuffle_queue():
    queue = raw.RandomShuffleQueueV2(
        component_types=[tf.int32], shapes=[[]], seed=87654321, seed2=7
    )
    fill = raw.QueueEnqueueManyV2(handle=queue, components=[np.arange(20, dtype=np.int32)])
    return Plan([fill], raw.QueueDequeueManyV2(handle=queue, n=20, component_types=[tf.int32]))


def _queue_of_another_dtype():
    queue = raw.FIFOQueueV2(component_types=[tf.int32], shapes=[[]])
    return Plan([raw.QueueEnqueueV2(handle=queue, components=[np.float32(1)])])


def _closed_queue():
    queue = raw.FIFOQueueV2(component_types=[tf.int32], shapes=[[]])
    fill = raw.QueueEnqueueV2(handle=queue, components=[np.int32(1)])
    take = raw.QueueDequeueManyV2(handle=queue, n=2, component_types=[tf.int32])
    return Plan([fill, raw.QueueCloseV2(handle=queue), take[0].op])


def _barrier_small_batch():
    types = [tf.float32, tf.int32]
    barrier = raw.Barrier(component_types=types, shapes=[[], []])

    def insert(keys, values, component):
        return raw.BarrierInsertMany(
            handle=barrier,
            keys=np.array(list(keys)),
            values=np.array(values, types[component].as_numpy_dtype),
            component_index=component,
        )

    runs = [insert("ab", [1, 2], 0), insert("c", [3], 0), insert("ca", [30, 10], 1)]
    runs.append(raw.BarrierClose(handle=barrier))
    taken = raw.BarrierTakeMany(
        handle=barrier, num_elements=5, component_types=types, allow_small_batch=True
    )
    return Plan(runs, [taken.indices, taken.keys, *taken.values])


def _staging_by_parts():
    where = {"shared_name": "parts"}
    types = [tf.float32, tf.int32]

    def stage(key, index, value):
        return raw.MapStage(
            key=np.int64(key),
            indices=np.array([index], np.int32),
            values=[types[index].as_numpy_dtype(value)],
            dtypes=types,
            **where,
        )

    runs = [stage(4, 1, 40), stage(3, 0, 3), stage(3, 1, 30)]
    taken = raw.MapUnstageNoKey(indices=np.array([0, 1], np.int32), dtypes=types, **where)
    return Plan(runs, [taken.key, *taken.values])


def _peek_at_stage():
    where = {"shared_name": "stage"}
    runs = [raw.Stage(values=[np.float32(value)], **where) for value in (1, 2, 3)]
    return Plan(runs, raw.StagePeek(index=1, dtypes=[tf.float32], **where))


def _stack_by_reference():
    stack = raw.Stack(elem_type=tf.float32)
    first = raw.StackPush(handle=stack, elem=np.float32(1))
    with tf.control_dependencies([first]):
        second = raw.StackPush(handle=stack, elem=np.float32(2))
    with tf.control_dependencies([second]):
        top = raw.StackPop(handle=stack, elem_type=tf.float32)
    with tf.control_dependencies([top]):
        below = raw.StackPop(handle=stack, elem_type=tf.float32)
    return Plan([], [top, below])


def _binomial_draws():
    """Draws that follow each other from the generator in a variable, and its state after them."""
    state, assign = _variable(np.array([5, -3, 77], np.int64), tf.int64)
    # TensorFlow loses an update of a variable that shares its value with a constant.
    own = raw.AssignAddVariableOp(resource=state, value=np.zeros(3, np.int64))
    runs, draws = [assign, own], []
    for dtype, shape, counts, probs in (
        (tf.int64, [4, 3], [2.0, 30.0, 400.0], 0.3),
        (tf.int32, [5], 50.0, 0.9),
        (tf.float64, [0, 2], [1.0, 2.0], 0.5),
        (tf.float32, [2, 2], [[3.0], [90.0]], [0.0, 0.6]),
    ):
        kept, _ = _variable(np.zeros(shape), dtype)
        drawn = raw.StatefulRandomBinomial(
            resource=state,
            algorithm=tf.constant(1, tf.int64),
            shape=shape,
            counts=tf.constant(counts, tf.float64),
            probs=tf.constant(probs, tf.float64),
            dtype=dtype,
        )
        runs.append(raw.AssignVariableOp(resource=kept, value=drawn))
        draws.append(raw.ReadVariableOp(resource=kept, dtype=dtype))
    return Plan(runs, [*draws, raw.ReadVariableOp(resource=state, dtype=tf.int64)])


def _reduced_to_nothing():
    """XLA does not look at the first value of a reduction whose result has no elements."""
    @tf.function(input_signature=[tf.TensorSpec((), tf.float32)] * 2)
    def add(x, y):
        return x + y

    reducer = add.get_concrete_function()
    reducer.add_to_graph(tf.compat.v1.get_default_graph())
    x = tf.zeros((2, 0, 3))
    results = [
        gen_xla_ops.xla_reduce(input=x, init_value=tf.constant(init), dimensions_to_reduce=dims,
                               reducer=reducer)
        for dims, init in (([0], [[7.0]]), ([2], [1.0, 2.0]), ([], 1.0), ([1], 7.0))
    ]
    results += gen_xla_ops.xla_variadic_reduce_v2(
        inputs=[x], init_values=[tf.constant([1.0, 2.0])], dimensions_to_reduce=[0], reducer=reducer)
    return Plan([], results)


def _quantised_to_nothing():
    @tf.function(input_signature=[tf.TensorSpec((), tf.float32)] * 2)
    def add(x, y):
        return x + y

    reducer = add.get_concrete_function()
    reducer.add_to_graph(tf.compat.v1.get_default_graph())
    numbers = tf.constant(np.zeros((1, 0), tf.qint32.as_numpy_dtype), tf.qint32)
    return Plan([gen_xla_ops.xla_reduce(input=numbers, init_value=numbers, dimensions_to_reduce=[],
                                        reducer=reducer)])


def cases():
    """All cases by name."""
    found = {
        f"optimizer_{name}": lambda name=name, more=more: _optimizer(_optimizer_calls(name, more))
        for name, more in _OPTIMIZERS.items()
    }
    refused = {
        "gradient_shape": _refused(_MOMENTUM, gradient=np.ones([4, 3], np.float32)),
        "index_out_of_range": _refused(_SPARSE, rows=[0, 3]),
        "index_negative": _refused(_SPARSE, rows=[-1]),
        "row_shape": _refused(_SPARSE, rows=[0], gradient=np.ones([1, 5], np.float32)),
        "row_count": _refused(_SPARSE, rows=[0], gradient=np.ones([2, 4], np.float32)),
        "proximal_learning_rate": _refused("ResourceApplyProximalAdagrad", scalars={"lr": 0.0}),
        "ftrl_sparse_l1": _refused(_SPARSE_FTRL, rows=[0], scalars={"l1": -1.0}),
        "ftrl_sparse_power": _refused(_SPARSE_FTRL, rows=[0], scalars={"lr_power": 1.0}),
    }
    found.update((f"optimizer_refuses_{name}", build) for name, build in refused.items())
    found.update(
        average_by_reference=_by_reference,
        accumulator_sparse_mean=_sparse_accumulator("MEAN"),
        accumulator_sparse_sum=_sparse_accumulator("SUM"),
        accumulator_stale=_stale_gradients,
        accumulator_refuses_shape=_accumulator_shape,
        queue_shuffle=_shuffle_queue,
        queue_refuses_dtype=_queue_of_another_dtype,
        queue_closed=_closed_queue,
        barrier_small_batch=_barrier_small_batch,
        staging_by_parts=_staging_by_parts,
        staging_peek=_peek_at_stage,
        stack_by_reference=_stack_by_reference,
        binomial_draws=_binomial_draws,
        reduced_to_nothing=_reduced_to_nothing,
        reduced_to_nothing_quantised=_quantised_to_nothing,
    )
    return found


def _record(build):
    """The GraphDef of a case, with what TensorFlow made of it."""
    with tf.Graph().as_default() as graph:
        plan = build()
        runs = [run if isinstance(run, tf.Operation) else run.op for run in plan.runs]
        graph_def = graph.as_graph_def()
        values, error = [], None
        with tf.compat.v1.Session(config=session_config()) as session:
            try:
                for run in runs:
                    session.run(run)
                values = session.run(plan.expect)
            except errors.OpError as failure:
                error = error_name(failure)
    node = graph_def.node.add(name="plan", op="NoOp")
    node.attr["_init"].list.s.extend(run.name.encode() for run in runs)
    node.attr["_step"].list.SetInParent()
    node.attr["_from"].s = b"tests/data/record"
    if error is not None:
        node.attr["_error"].s = error.encode()
    for i, (tensor, value) in enumerate(zip(plan.expect, values)):
        expected = add_const(graph_def, f"expect/{i}", np.asarray(value), tensor.dtype.base_dtype)
        expected.attr["_of"].s = tensor.name.encode()
        # TensorFlow rounds each step of narrow floats.
        if tensor.dtype.base_dtype in NARROW:
            expected.attr["_rtol"].f = expected.attr["_atol"].f = 0.05
    return graph_def


def record(directory, builders):
    """Writes DIRECTORY/NAME.pb for each of some cases by name, and returns the paths."""
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, build in builders.items():
        paths.append(directory / f"{name}.pb")
        paths[-1].write_bytes(_record(build).SerializeToString(deterministic=True))
    return paths
