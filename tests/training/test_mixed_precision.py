"""`tessera train` in mixed precision, with TensorFlow doing the same as the oracle.

Keras's policies compute in 16 bits and scale the loss in the graph; a graph of TF1 has a loss scale
of its own, too; and a job's `precision` adds casts to a graph that has none.
"""

import pathlib

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

from training import train_jobs  # noqa: E402
from training.train_jobs import losses, train  # noqa: E402

v1 = tf.compat.v1
# Without AVX-512 TensorFlow cuts off the last bits of bfloat16 products of matrices, which are rounded
# here on every processor. The curves differ by more than their tolerance.
HAS_AVX512 = "avx512bw" in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
needs_avx512 = pytest.mark.skipif(not HAS_AVX512, reason="bfloat16 as in TensorFlow needs AVX-512")
STEPS, BATCH, ROWS = 30, 8, 40

JOB = """
graph: {GRAPH}
data:
  train:
    files: [train.tfrecord]
    fields: [{name: x, shape: [4], dtype: float32}, {name: y, dtype: float32}]
batch: 8
steps: 30
seed: 1
threads: 1
hooks: {checkpoint: {every_steps: 1, max_to_keep: 30}, logging: {every_steps: 1}}
"""


def write_job(folder, graph):
    train_jobs.write_examples(folder / "train.tfrecord", *train_jobs.examples(ROWS))
    (folder / "job.yaml").write_text(JOB.replace("{GRAPH}", graph), encoding="utf-8")
    return folder / "job.yaml"


def batch(step):
    x, y = train_jobs.examples(ROWS)
    rows = slice(BATCH * step % ROWS, BATCH * step % ROWS + BATCH)
    return x[rows], y[rows]


def checkpoints(job):
    """The checkpoint of each step."""
    return [str(job.parent / "run" / "checkpoints" / f"step-{step + 1}") for step in range(STEPS)]


def expect_curve(ours, expected):
    """The tolerance of recorded curves: optimizers amplify rounding."""
    ours = list(ours.values())
    np.testing.assert_allclose(ours[:20], expected[:20], rtol=1e-3)
    np.testing.assert_allclose(ours[20:], expected[20:], rtol=1e-2)


def dense():
    return [keras.layers.Dense(16, "relu"), keras.layers.Dense(16, "tanh")]


def convolution():
    # Nothing but rounding would move a bias in front of a batch norm.
    return [keras.layers.Reshape([2, 2, 1]),
            keras.layers.Conv2D(8, 2, padding="same", use_bias=False),
            keras.layers.BatchNormalization(), keras.layers.ReLU(), keras.layers.Flatten()]


def recurrence():
    return [keras.layers.Reshape([4, 1]), keras.layers.LSTM(8)]


class Attention(keras.layers.Layer):
    """A block of a transformer over rows of the input."""

    def __init__(self):
        super().__init__()
        self.attend = keras.layers.MultiHeadAttention(2, 4, use_bias=False)
        self.wide, self.narrow = keras.layers.Dense(16, "gelu"), keras.layers.Dense(8)
        self.first, self.second = (keras.layers.LayerNormalization() for _ in range(2))

    def build(self, shape):
        self.attend.build(shape, shape)
        for layer in (self.first, self.second, self.wide):
            layer.build(shape)
        self.narrow.build((*shape[:-1], 16))

    def call(self, x):
        x = self.first(x + self.attend(x, x))
        return self.second(x + self.narrow(self.wide(x)))


def transformer():
    return [keras.layers.Reshape([4, 1]), keras.layers.Dense(8), Attention(),
            keras.layers.GlobalAveragePooling1D()]


class Mixed(tf.Module):
    """A Keras model of a policy, which scales its loss in float16 as Keras does."""

    def __init__(self, layers, policy, first_scale=2.0**15):
        super().__init__()
        keras.utils.set_random_seed(1)
        before = keras.config.dtype_policy()
        keras.config.set_dtype_policy(policy)
        try:
            self.model = keras.Sequential([keras.layers.Input([4]), *layers(),
                                           keras.layers.Dense(1, dtype="float32")])
        finally:
            keras.config.set_dtype_policy(before)
        # Adam would amplify the rounding of 16 bits: its first steps are the signs of gradients.
        self.optimizer = keras.optimizers.SGD(0.0005, momentum=0.9)
        self.scales = policy == "mixed_float16"
        if self.scales:
            self.optimizer = keras.optimizers.LossScaleOptimizer(
                self.optimizer, initial_scale=first_scale, dynamic_growth_steps=6)
        self.optimizer.build(self.model.trainable_variables)
        # TensorFlow does not find those of all optimizers by itself.
        self.tracked = [variable.value for variable in self.optimizer.variables]
        x = tf.TensorSpec([None, 4], tf.float32, "x")
        y = tf.TensorSpec([None], tf.float32, "y")
        self.calls = {"train_step": tf.function(self._train, input_signature=[x, y])}

    def _train(self, x, y):
        variables = self.model.trainable_variables
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.squeeze(self.model(x, training=True), 1) - y))
            scaled = self.optimizer.scale_loss(loss) if self.scales else loss
        self.optimizer.apply(tape.gradient(scaled, variables), variables)
        return {"loss": loss}

    def scale(self):
        return (float(self.optimizer.dynamic_scale.value), int(self.optimizer.step_counter.value))

    def state(self):
        return tf.train.Checkpoint(tracked=self.tracked)


@pytest.fixture(name="as_written")
def _as_written():
    """TensorFlow computes the sums and products of a graph as they are written. Its optimizer of
    arithmetic regroups them, by which the bfloat16 losses of the transformer move by up to 1.7e-3
    in 30 steps."""
    tf.config.optimizer.set_experimental_options({"arithmetic_optimization": False})
    try:
        yield
    finally:
        tf.config.optimizer.set_experimental_options({"arithmetic_optimization": True})


@needs_avx512
@pytest.mark.usefixtures("as_written")
def test_transformers_in_bfloat16_train_as_the_graph_is_written(tmp_path):
    expect_training_of_keras(transformer, "mixed_bfloat16", tmp_path)


@pytest.mark.parametrize("layers, policy", [
    pytest.param(dense, "mixed_bfloat16", marks=needs_avx512),
    (convolution, "mixed_bfloat16"), (recurrence, "mixed_bfloat16"),
    (convolution, "mixed_float16"), (recurrence, "mixed_float16"), (transformer, "mixed_float16")])
def test_policies_of_keras_train_as_in_tensorflow(layers, policy, tmp_path):
    expect_training_of_keras(layers, policy, tmp_path)


def expect_training_of_keras(layers, policy, tmp_path):
    # So large that the first gradients are infinite, and that later ones are at times.
    model = Mixed(layers, policy, first_scale=2.0**22)
    tf.saved_model.save(model, str(tmp_path / "model"), signatures=model.calls)
    ours = losses(train(job := write_job(tmp_path, "{saved_model: model}")))
    expected, scales = [], []
    for step in range(STEPS):
        expected.append(float(model.calls["train_step"](*map(tf.constant, batch(step)))["loss"]))
        if model.scales:
            scales.append(model.scale())
    expect_curve(ours, expected)
    if not model.scales:
        return
    moves = np.diff([scale for scale, _ in scales])
    assert (moves < 0).any() and (moves > 0).any()
    saved = []
    for checkpoint in checkpoints(job):
        model.state().read(checkpoint).assert_existing_objects_matched().expect_partial()
        saved.append(model.scale())
    assert saved == scales
    # The steps that were skipped changed nothing else, not even the number of steps.
    skipped = 1 + sum(moves < 0)
    assert int(model.optimizer.iterations) == STEPS - skipped


def half(value):
    return tf.cast(value, tf.float16)


@pytest.fixture(name="is_resource", params=[False, True], ids=["reference", "resource"])
def _is_resource(request):
    """Variables by reference, with the control flow of their time; or by handle, with today's."""
    if request.param:
        yield True
        return
    v1.disable_control_flow_v2()
    try:
        yield False
    finally:
        v1.enable_control_flow_v2()


def test_the_loss_scale_of_a_graph_of_tf1_moves_as_in_tensorflow(is_resource, tmp_path):
    graph = v1.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        y = v1.placeholder(tf.float32, [None], name="y")
        random = np.random.default_rng(0)
        hidden = v1.get_variable("hidden", use_resource=is_resource,
                                 initializer=random.normal(0, 0.5, (4, 8)).astype(np.float32))
        kernel = v1.get_variable("kernel", use_resource=is_resource,
                                 initializer=random.normal(0, 0.5, (8, 1)).astype(np.float32))
        output = tf.matmul(tf.tanh(tf.matmul(half(x), half(hidden))), half(kernel))
        output = tf.cast(tf.squeeze(output, 1), tf.float32)
        loss = tf.identity(v1.losses.mean_squared_error(y, output), name="loss")
        optimizer = v1.mixed_precision.MixedPrecisionLossScaleOptimizer(
            v1.train.AdamOptimizer(0.01),
            v1.mixed_precision.DynamicLossScale(2.0**22, increment_period=6))
        step = optimizer.minimize(loss, name="train")
        init = v1.global_variables_initializer()
        scale = [v for v in v1.global_variables() if "loss_scale" in v.op.name]
        saver = v1.train.Saver(v1.global_variables())
        v1.train.export_meta_graph(str(tmp_path / "train.meta"), saver_def=saver.as_saver_def())
    job = write_job(tmp_path, f"{{meta_graph: train.meta, train_op: '{step.name}'}}")
    ours = losses(train(job))
    expected, scales = [], []
    with v1.Session(graph=graph) as session:
        session.run(init)
        for number in range(STEPS):
            feed = dict(zip((x, y), batch(number)))
            expected.append(session.run(loss, feed))
            session.run(step, feed)
            scales.append(session.run(scale))
    expect_curve(ours, expected)
    moves = np.diff([value for value, *_ in scales])
    assert (moves < 0).any() and (moves > 0).any()
    names = [variable.op.name for variable in scale]
    readers = map(tf.train.load_checkpoint, checkpoints(job))
    assert [[reader.get_tensor(name) for name in names] for reader in readers] == scales


def products(narrow):
    """A forward graph whose products compute in `narrow`, None for float."""
    def call(op, *values):
        if narrow is None:
            return op(*values)
        return tf.cast(op(*(tf.cast(value, narrow) for value in values)), tf.float32)

    random = np.random.default_rng(0)

    def variable(name, *shape):
        return v1.get_variable(name,
                               initializer=random.normal(0, 0.4, shape).astype(np.float32))

    x = v1.placeholder(tf.float32, [None, 4], name="x")
    pixels = call(lambda a, b: tf.nn.conv2d(a, b, 1, "SAME"), tf.reshape(x, [-1, 2, 2, 1]),
                  variable("filters", 2, 2, 1, 8))
    pixels = tf.reshape(tf.nn.relu(pixels), [-1, 4, 8])
    similar = call(lambda a, b: tf.matmul(a, b, transpose_b=True), pixels, pixels)
    output = call(tf.matmul, tf.reshape(similar, [-1, 16]), variable("kernel", 16, 1))
    return x, tf.squeeze(output, 1, name="output")


@pytest.mark.parametrize("precision", [pytest.param("bfloat16", marks=needs_avx512), "float16"])
def test_precision_of_a_job_is_that_of_casts_around_products(precision, tmp_path):
    with v1.Graph().as_default():
        products(None)
        v1.train.export_meta_graph(str(tmp_path / "forward.meta"))
    job = write_job(tmp_path, "{meta_graph: forward.meta, loss: {type: mean_squared_error, "
                              "output: output, label: y}, optimizer: {type: momentum, "
                              "learning_rate: 0.002}}")
    ours = losses(train(job, precision=precision))
    with v1.Graph().as_default(), v1.Session() as session:
        x, output = products(getattr(tf, precision))
        y = v1.placeholder(tf.float32, [None])
        loss = v1.losses.mean_squared_error(y, output)
        optimizer = v1.train.MomentumOptimizer(0.002, 0.9)
        if precision == "float16":
            optimizer = v1.mixed_precision.MixedPrecisionLossScaleOptimizer(
                optimizer, v1.mixed_precision.DynamicLossScale())
        step = optimizer.minimize(loss)
        session.run(v1.global_variables_initializer())
        expected = [session.run([loss, step], dict(zip((x, y), batch(number))))[0]
                    for number in range(STEPS)]
    expect_curve(ours, expected)
