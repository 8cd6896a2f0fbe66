"""Each optimizer and schedule of a job against TensorFlow's, on a dense and a sparse variable.

The oracle is tf.compat.v1.train, and Keras for what only Keras has. AddSign and PowerSign have only
their ops. Keras gets dense gradients: from sparse ones it does not sum the slices of a row first.
"""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from training.train_jobs import losses, train  # noqa: E402

v1 = tf.compat.v1
keras = tf.keras.optimizers
decays = keras.schedules
ROWS, BATCH, STEPS, RATE = 48, 8, 18, 0.05
_random = np.random.default_rng(0)
X = _random.normal(size=(ROWS, 4)).astype(np.float32)
IDS = _random.integers(0, 10, (ROWS, 3))
Y = (X @ [1, -2, 3, 0.5] + IDS.sum(1) / 10).astype(np.float32)
FIRST = {"kernel": _random.normal(0, 0.5, (4, 6)).astype(np.float32),
         "table": _random.normal(0, 0.5, (10, 6)).astype(np.float32),
         "output_kernel": _random.normal(0, 0.5, (6, 1)).astype(np.float32)}


def model(x, ids, variables):
    rows = tf.nn.embedding_lookup(variables["table"], ids)
    hidden = tf.tanh(tf.matmul(x, variables["kernel"]) + tf.reduce_sum(rows, 1))
    return tf.squeeze(tf.matmul(hidden, variables["output_kernel"]), 1)


def batches():
    for step in range(STEPS):
        rows = slice(BATCH * step % ROWS, BATCH * step % ROWS + BATCH)
        yield X[rows], IDS[rows], Y[rows]


def forward_graph():
    """The graph, its placeholders and its output."""
    graph = v1.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        ids = v1.placeholder(tf.int64, [None, 3], name="ids")
        variables = {name: v1.get_variable(name, initializer=value, use_resource=True)
                     for name, value in FIRST.items()}
        return graph, x, ids, tf.identity(model(x, ids, variables), name="output")


def curve_of_v1(minimize):
    graph, x, ids, output = forward_graph()
    with graph.as_default():
        y = v1.placeholder(tf.float32, [None])
        loss = v1.losses.mean_squared_error(y, output)
        step = minimize(loss)
        init = v1.global_variables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(init)
        return [session.run([loss, step], {x: a, ids: b, y: c})[0] for a, b, c in batches()]


def curve_of_keras(optimizer):
    variables = {name: tf.Variable(value, name=name) for name, value in FIRST.items()}
    curve = []
    for x, ids, y in batches():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, ids, variables) - y))
        gradients = tape.gradient(loss, list(variables.values()))
        optimizer.apply_gradients(zip(map(tf.convert_to_tensor, gradients), variables.values()))
        curve.append(float(loss))
    return curve


def minimizer(optimizer):
    return lambda: curve_of_v1(optimizer.minimize)


def sign_op(op, **arguments):
    def minimize(loss):
        updates = []
        variables = v1.trainable_variables()
        for variable, gradient in zip(variables, tf.gradients(loss, variables)):
            gradient = tf.convert_to_tensor(gradient)
            mean = v1.get_variable(variable.op.name + "_mean", initializer=tf.zeros(variable.shape),
                                   use_resource=True, trainable=False)
            updates.append(op(var=variable.handle, m=mean.handle, lr=RATE, sign_decay=1.0, beta=0.9,
                              grad=gradient, **arguments))
        return tf.group(*updates)

    return lambda: curve_of_v1(minimize)


# By the type: TensorFlow's curve, and the parameters in the job.
OPTIMIZERS = {
    "sgd": (minimizer(v1.train.GradientDescentOptimizer(RATE)), ""),
    "momentum": (minimizer(v1.train.MomentumOptimizer(RATE, 0.9)), ""),
    "nesterov": (minimizer(v1.train.MomentumOptimizer(RATE, 0.8, use_nesterov=True)),
                 ", momentum: 0.8"),
    "adagrad": (minimizer(v1.train.AdagradOptimizer(RATE, 0.2)), ", initial_accumulator: 0.2"),
    "adadelta": (minimizer(v1.train.AdadeltaOptimizer(RATE, 0.9, 1e-3)),
                 ", rho: 0.9, epsilon: 0.001"),
    "adam": (minimizer(v1.train.AdamOptimizer(RATE, 0.8, 0.99, 1e-4)),
             ", beta1: 0.8, beta2: 0.99, epsilon: 0.0001"),
    "adamw": (lambda: curve_of_keras(keras.AdamW(RATE, weight_decay=0.1)), ", weight_decay: 0.1"),
    "adamax": (lambda: curve_of_keras(keras.Adamax(RATE)), ""),
    "amsgrad": (lambda: curve_of_keras(keras.Adam(RATE, beta_2=0.9, amsgrad=True)),
                ", beta2: 0.9"),
    "lamb": (lambda: curve_of_keras(keras.Lamb(RATE, weight_decay=0.1)), ", weight_decay: 0.1"),
    "rmsprop": (minimizer(v1.train.RMSPropOptimizer(RATE, 0.8, 0.5, 1e-3)),
                ", decay: 0.8, momentum: 0.5, epsilon: 0.001"),
    "rmsprop_centered": (
        minimizer(v1.train.RMSPropOptimizer(RATE, 0.8, 0.5, 1e-3, centered=True)),
        ", decay: 0.8, momentum: 0.5, epsilon: 0.001"),
    "ftrl": (minimizer(v1.train.FtrlOptimizer(RATE, -0.6, 0.2, 0.01, 0.02)),
             ", learning_rate_power: -0.6, initial_accumulator: 0.2, l1: 0.01, l2: 0.02"),
    "proximal_sgd": (minimizer(v1.train.ProximalGradientDescentOptimizer(RATE, 0.01, 0.02)),
                     ", l1: 0.01, l2: 0.02"),
    "proximal_adagrad": (minimizer(v1.train.ProximalAdagradOptimizer(RATE, 0.2, 0.01, 0.02)),
                         ", initial_accumulator: 0.2, l1: 0.01, l2: 0.02"),
    "add_sign": (sign_op(tf.raw_ops.ResourceApplyAddSign, alpha=1.0), ""),
    "power_sign": (sign_op(tf.raw_ops.ResourceApplyPowerSign, logbase=1.0), ""),
}
# What Keras calls it, and the schedule in the job.
SCHEDULES = [
    (decays.ExponentialDecay(RATE, 5, 0.7), "type: exponential, decay_steps: 5, decay_rate: 0.7"),
    (decays.ExponentialDecay(RATE, 5, 0.7, staircase=True),
     "type: exponential, decay_steps: 5, decay_rate: 0.7, staircase: true"),
    (decays.InverseTimeDecay(RATE, 5, 0.7), "type: inverse_time, decay_steps: 5, decay_rate: 0.7"),
    (decays.PolynomialDecay(RATE, 12, 0.01, 2.0),
     "type: polynomial, decay_steps: 12, end_learning_rate: 0.01, power: 2"),
    (decays.PolynomialDecay(RATE, STEPS, 0.0), "type: polynomial"),
    (decays.CosineDecay(0.0, 10, alpha=0.2, warmup_target=RATE, warmup_steps=6),
     "type: cosine, warmup_steps: 6, decay_steps: 10, end_learning_rate: 0.01"),
    (decays.PiecewiseConstantDecay([5, 10], [RATE, 0.02, 0.01]),
     "type: piecewise, boundaries: [5, 10], values: [0.05, 0.02, 0.01]"),
]


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("optimizers")
    graph, *_ = forward_graph()
    with graph.as_default():
        v1.train.export_meta_graph(str(folder / "forward.meta"))
    with tf.io.TFRecordWriter(str(folder / "train.tfrecord")) as writer:
        for x, ids, y in zip(X, IDS, Y):
            writer.write(tf.train.Example(features=tf.train.Features(feature={
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=x)),
                "ids": tf.train.Feature(int64_list=tf.train.Int64List(value=ids)),
                "y": tf.train.Feature(float_list=tf.train.FloatList(value=[y])),
            })).SerializeToString())
    (folder / "job.yaml").write_text("""
graph: {meta_graph: forward.meta, loss: {type: mean_squared_error, output: output, label: y}}
data:
  train:
    files: [train.tfrecord]
    fields:
      - {name: x, shape: [4], dtype: float32}
      - {name: ids, shape: [3], dtype: int64}
      - {name: y, dtype: float32}
batch: 8
threads: 1
hooks: {logging: {every_steps: 1}}
""", encoding="utf-8")
    return folder


def curve_of_job(folder, **settings):
    return list(losses(train(folder / "job.yaml", steps=STEPS, resume="false",
                             **settings)).values())


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_are_tensorflows(folder, name):
    curve, parameters = OPTIMIZERS[name]
    optimizer = f"{{type: {name}, learning_rate: 0.05{parameters}}}"
    ours = curve_of_job(folder, graph__optimizer=optimizer)
    np.testing.assert_allclose(ours, curve(), rtol=2e-4)


@pytest.mark.parametrize("schedule, settings", SCHEDULES,
                         ids=[settings.split(",")[0][6:] for _, settings in SCHEDULES])
def test_schedules_are_those_of_keras(folder, schedule, settings):
    ours = curve_of_job(folder, graph__optimizer="{type: sgd, learning_rate: 0.05}",
                        graph__schedule=f"{{{settings}}}")
    np.testing.assert_allclose(ours, curve_of_keras(keras.SGD(schedule)), rtol=2e-4)
