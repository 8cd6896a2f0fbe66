"""`tessera train` on graphs of TF1: the curves, the names of slots, and checkpoints both ways.

The oracle is tf.compat.v1 with its own optimizers, schedules, clipping and Saver.
"""

import re

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from training import train_jobs  # noqa: E402
from training.train_jobs import losses, records, train  # noqa: E402

v1 = tf.compat.v1
ROWS, BATCH = 64, 8
RATE = 0.05

DATA = """
data:
  train:
    files: [train.tfrecord]
    fields: [{name: x, shape: [4], dtype: float32}, {name: y, dtype: float32}]
batch: 8
seed: 1
threads: 1
hooks: {checkpoint: {every_steps: 10}, logging: {every_steps: 1}}
"""


class Model:
    """A model of two layers in a graph of its own, trained by `minimize` if that is given."""

    def __init__(self, is_resource, minimize=None, dtype=np.float32):
        self.graph = v1.Graph()
        self._dtype = dtype
        with self.graph.as_default():
            self.x = v1.placeholder(tf.float32, [None, 4], name="x")
            self.y = v1.placeholder(tf.float32, [None], name="y")
            x = tf.cast(self.x, dtype)
            hidden = tf.tanh(tf.matmul(x, self._variable("hidden/kernel", (4, 6), is_resource))
                             + self._variable("hidden/bias", (6,), is_resource))
            kernel = self._variable("kernel", (6, 1), is_resource)
            output = tf.cast(tf.squeeze(tf.matmul(hidden, kernel), 1), tf.float32)
            output = tf.identity(output, name="output")
            if minimize is None:
                self.loss = None
            else:
                self.loss = tf.identity(v1.losses.mean_squared_error(self.y, output), name="loss")
                self.train = minimize(self.loss, v1.train.get_or_create_global_step())
            self.init = v1.global_variables_initializer()
            self.saver = v1.train.Saver(v1.global_variables())

    def _variable(self, name, shape, is_resource):
        first = np.random.default_rng(len(name)).normal(0, 0.5, shape).astype(self._dtype)
        return v1.get_variable(name, initializer=first, use_resource=is_resource)

    def write(self, path):
        with self.graph.as_default():
            v1.train.export_meta_graph(str(path), saver_def=self.saver.as_saver_def())

    def curve(self, session, begin, end):
        """Trains on the batches of these steps and returns their losses."""
        x, y = train_jobs.examples(ROWS)
        curve = []
        for step in range(begin, end):
            rows = slice(BATCH * step % ROWS, BATCH * step % ROWS + BATCH)
            feed = {self.x: x[rows], self.y: y[rows]}
            curve.append(float(session.run(self.loss, feed)))
            session.run(self.train, feed)
        return curve


def decayed(step):
    return v1.train.exponential_decay(RATE, step, 5, 0.8, staircase=True)


def clipped(optimizer, clip, loss, step):
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    return optimizer.apply_gradients(zip(clip(gradients), variables), step)


# How TensorFlow trains, and what a job says for the same.
CASES = {
    "adam": (lambda loss, step: v1.train.AdamOptimizer(RATE).minimize(loss, step),
             "optimizer: {type: adam, learning_rate: 0.05}"),
    "momentum_decay": (
        lambda loss, step: v1.train.MomentumOptimizer(decayed(step), 0.9).minimize(loss, step),
        "optimizer: {type: momentum, learning_rate: 0.05}\n"
        "  schedule: {type: exponential, decay_steps: 5, decay_rate: 0.8, staircase: true}"),
    "rmsprop_global_norm": (
        lambda loss, step: clipped(v1.train.RMSPropOptimizer(RATE),
                                   lambda all: tf.clip_by_global_norm(all, 0.5)[0], loss, step),
        "optimizer: {type: rmsprop, learning_rate: 0.05}\n  clip: {global_norm: 0.5}"),
    "ftrl_norm": (
        lambda loss, step: clipped(v1.train.FtrlOptimizer(RATE),
                                   lambda all: [tf.clip_by_norm(each, 0.1) for each in all],
                                   loss, step),
        "optimizer: {type: ftrl, learning_rate: 0.05}\n  clip: {norm: 0.1}"),
}


def write_job(folder, graph):
    train_jobs.write_examples(folder / "train.tfrecord", *train_jobs.examples(ROWS))
    (folder / "job.yaml").write_text(f"graph:\n  {graph}\n{DATA}", encoding="utf-8")
    return folder / "job.yaml"


def added_to(meta, optimizer):
    return (f"meta_graph: {meta}\n  loss: {{type: mean_squared_error, output: output, label: y}}"
            f"\n  {optimizer}")


@pytest.mark.parametrize("is_resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("case", CASES)
def test_added_optimizer_trains_as_tensorflows_does(case, is_resource, tmp_path):
    expect_same_training(*CASES[case], is_resource, np.float32, tmp_path)


def test_adam_of_double_variables_keeps_its_powers_in_float(tmp_path):
    expect_same_training(*CASES["adam"], False, np.float64, tmp_path)


def expect_same_training(minimize, spec, is_resource, dtype, tmp_path):
    trained = Model(is_resource, minimize, dtype)
    with v1.Session(graph=trained.graph) as session:
        session.run(trained.init)
        expected = trained.curve(session, 0, 30)
    Model(is_resource, dtype=dtype).write(tmp_path / "forward.meta")
    job = write_job(tmp_path, added_to("forward.meta", spec))
    ours = losses(train(job, steps=20))
    np.testing.assert_allclose(list(ours.values()), expected[:20], rtol=1e-3)

    # TensorFlow's Saver finds all variables by their names, and goes on on the same curve.
    checkpoint = tf.train.latest_checkpoint(str(tmp_path / "run" / "checkpoints"))
    with v1.Session(graph=trained.graph) as session:
        trained.saver.restore(session, checkpoint)
        np.testing.assert_allclose(trained.curve(session, 20, 30), expected[20:], rtol=1e-2)


def test_nodes_that_are_computed_again_leave_the_curve_as_it_is(tmp_path):
    Model(False).write(tmp_path / "forward.meta")
    spec = added_to("forward.meta", "optimizer: {type: adam, learning_rate: 0.05}")
    kept = losses(train(write_job(tmp_path, spec), steps=20, folder="kept"))
    job = write_job(tmp_path, f"{spec}\n  recompute: [Tanh, add.*, MatMul]")
    assert losses(train(job, steps=20, folder="again")) == kept


def test_own_train_op_trains_and_goes_on_from_tensorflows_checkpoint(tmp_path):
    trained = Model(True, CASES["adam"][0])
    trained.write(tmp_path / "train.meta")
    job = write_job(tmp_path, "meta_graph: train.meta")
    checkpoints = tmp_path / "run" / "checkpoints"
    with v1.Session(graph=trained.graph) as session:
        session.run(trained.init)
        expected = trained.curve(session, 0, 16)
        ours = losses(train(job, steps=16))
        np.testing.assert_allclose(list(ours.values()), expected, rtol=1e-3)
        saved = trained.saver.save(session, str(checkpoints / "step-16"))
        expected = trained.curve(session, 16, 24)
    assert tf.train.latest_checkpoint(str(checkpoints)) == saved
    ours = losses(train(job, steps=24))
    np.testing.assert_allclose(list(ours.values()), expected, rtol=1e-2)


def test_random_ops_go_on_after_a_resume(tmp_path):
    """Dropout and noise keep their generators in the process, one in a function."""
    graph = v1.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        noise = tf.function(lambda t: v1.random_normal(tf.shape(t), seed=4))
        kernel = v1.get_variable("kernel", initializer=np.ones((4, 1), np.float32))
        hidden = v1.nn.dropout(x, rate=0.5, seed=3) + 0.1 * noise(x)
        tf.squeeze(tf.matmul(hidden, kernel), 1, name="output")
        v1.train.export_meta_graph(str(tmp_path / "forward.meta"))
    spec = added_to("forward.meta", "optimizer: {type: sgd, learning_rate: 0.01}")
    whole = losses(train(write_job(tmp_path, spec), folder="whole", steps=20))
    job = tmp_path / "job.yaml"
    parts = losses(train(job, steps=10)) | losses(train(job, steps=20))
    assert parts == whole
    assert len(set(whole.values())) == 20


def test_a_resume_goes_on_in_the_middle_of_an_update(tmp_path):
    """Step 10 is the first of the three of an update; the scale is too large for float16 at first."""
    graph = v1.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        kernel = v1.get_variable("kernel", initializer=np.ones((4, 1), np.float32))
        tf.squeeze(tf.matmul(x, kernel), 1, name="output")
        v1.train.export_meta_graph(str(tmp_path / "forward.meta"))
    spec = added_to("forward.meta", "optimizer: {type: adam, learning_rate: 0.01}")
    job = write_job(tmp_path, spec)
    options = {"precision": "float16", "accumulate": 3, "loss_scale__initial": 2.0 ** 24}
    process = train(job, folder="whole", steps=24, **options)
    whole = losses(process)
    skipped = [each for each in records(process) if each["event"] == "skip"]
    assert skipped and all(each["step"] % 3 == 0 for each in skipped)
    assert skipped[0]["loss_scale"] == 2.0 ** 24
    first = losses(train(job, steps=10, **options))
    assert first | losses(train(job, steps=24, **options)) == whole


@pytest.mark.parametrize("has_saver", [True, False])
def test_partitioned_variables_go_on_in_tensorflow_and_here(has_saver, tmp_path):
    graph = v1.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        y = v1.placeholder(tf.float32, [None], name="y")
        kernel = v1.get_variable("kernel", (4, 1), initializer=v1.ones_initializer(),
                                 partitioner=v1.fixed_size_partitioner(2), use_resource=False)
        output = tf.squeeze(tf.matmul(x, tf.convert_to_tensor(kernel)), 1)
        loss = tf.identity(v1.losses.mean_squared_error(y, output), name="loss")
        step = v1.train.AdamOptimizer(RATE).minimize(loss)
        init = v1.global_variables_initializer()
        saver = v1.train.Saver(v1.global_variables())
        v1.train.export_meta_graph(str(tmp_path / "train.meta"),
                                   saver_def=saver.as_saver_def() if has_saver else None)
    job = write_job(tmp_path, "meta_graph: train.meta")
    values, targets = train_jobs.examples(ROWS)

    def curve(session, begin, end):
        results = []
        for number in range(begin, end):
            rows = slice(BATCH * number % ROWS, BATCH * number % ROWS + BATCH)
            feed = {x: values[rows], y: targets[rows]}
            results.append(session.run(loss, feed))
            session.run(step, feed)
        return results

    with v1.Session(graph=graph) as session:
        session.run(init)
        expected = curve(session, 0, 24)
    ours = losses(train(job, steps=10))
    np.testing.assert_allclose(list(ours.values()), expected[:10], rtol=1e-3)
    checkpoints = tmp_path / "run" / "checkpoints"
    saved = tf.train.latest_checkpoint(str(checkpoints))
    assert tf.train.load_checkpoint(saved).get_tensor("kernel").shape == (4, 1)
    with v1.Session(graph=graph) as session:
        saver.restore(session, saved)
        np.testing.assert_allclose(curve(session, 10, 16), expected[10:16], rtol=1e-2)
        saver.save(session, str(checkpoints / "step-16"))
    ours = losses(train(job, steps=24))
    np.testing.assert_allclose(list(ours.values()), expected[16:], rtol=1e-2)


def test_placeholders_have_one_value_in_steps_and_another_in_evaluations(tmp_path):
    graph = v1.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        is_training = v1.placeholder(tf.bool, [], name="is_training")
        keep = v1.placeholder_with_default(1.0, [], name="keep")
        kernel = v1.get_variable("kernel", initializer=np.ones((4, 1), np.float32))
        factor = tf.where(is_training, keep, 3.0)
        tf.squeeze(factor * tf.matmul(x, kernel), 1, name="output")
        v1.train.export_meta_graph(str(tmp_path / "forward.meta"))
    spec = added_to("forward.meta", "optimizer: {type: sgd, learning_rate: 0.01}")
    job = write_job(tmp_path, f"{spec}\n  train_values: {{is_training: true, keep: 0.5}}"
                              "\n  eval_values: {is_training: false}\n  outputs: {output: output}")
    with job.open("a", encoding="utf-8") as file:
        file.write("eval: {every_steps: 1, metrics: [{type: mean_squared_error, output: output}]}\n"
                   "export: {base_path: served, inputs: {x: x}, outputs: {y: output}}\n")
    data = "{files: [train.tfrecord], fields: [{name: x, shape: [4], dtype: float32}, " \
           "{name: y, dtype: float32}]}"
    process = train(job, "--set", f"data.eval={data}", steps=1)
    x, y = train_jobs.examples(ROWS)
    first = np.square(0.5 * x[:BATCH].sum(1) - y[:BATCH]).mean()
    np.testing.assert_allclose(losses(process)[1], first, rtol=1e-5)
    checkpoint = tf.train.latest_checkpoint(str(tmp_path / "run" / "checkpoints"))
    output = 3 * (x @ tf.train.load_checkpoint(checkpoint).get_tensor("kernel"))[:, 0]
    evaluated = [each for each in train_jobs.records(process) if each["event"] == "eval"][-1]
    np.testing.assert_allclose(evaluated["mean_squared_error"], np.square(output - y).mean(),
                               rtol=1e-5)
    # What is served has the values of evaluations, and no such input.
    served = tf.saved_model.load(str(tmp_path / "served" / "1")).signatures["serving_default"]
    np.testing.assert_allclose(served(x=tf.constant(x))["y"], output, rtol=1e-5)


def test_graph_that_reads_its_own_data_needs_none_in_the_job(tmp_path):
    x, y = train_jobs.examples(ROWS)
    graph = v1.Graph()
    with graph.as_default():
        rows = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(BATCH)
        features, labels = v1.data.make_one_shot_iterator(rows).get_next()
        kernel = v1.get_variable("kernel", initializer=np.ones((4, 1), np.float32))
        output = tf.squeeze(tf.matmul(features, kernel), 1)
        loss = tf.identity(v1.losses.mean_squared_error(labels, output), name="loss")
        step = v1.train.MomentumOptimizer(RATE, 0.9).minimize(loss, name="train")
        init = v1.global_variables_initializer()
        v1.train.export_meta_graph(str(tmp_path / "train.meta"))
    with v1.Session(graph=graph) as session:
        session.run(init)
        expected = [session.run([loss, step])[0] for _ in range(20)]
    job = tmp_path / "job.yaml"
    job.write_text("graph: {meta_graph: train.meta, train_op: train}\nsteps: 20\n"
                   "hooks: {logging: {every_steps: 1}}\n", encoding="utf-8")
    process = train(job)
    np.testing.assert_allclose(list(losses(process).values()), expected, rtol=1e-4)


class QueueModel:
    """A graph of TF1 that reads records through queues, filled by queue runners."""

    def __init__(self, files, epochs, in_order=True):
        self.graph = v1.Graph()
        with self.graph.as_default():
            names = v1.train.string_input_producer([str(f) for f in files], num_epochs=epochs,
                                                   shuffle=not in_order, seed=1)
            _, record = v1.TFRecordReader().read(names)
            parsed = v1.parse_single_example(record, {
                "x": v1.FixedLenFeature([4], tf.float32), "y": v1.FixedLenFeature([], tf.float32)})
            columns = [parsed["x"], parsed["y"]]
            if in_order:
                features, labels = v1.train.batch(columns, BATCH)
            else:
                features, labels = v1.train.shuffle_batch(
                    columns, BATCH, capacity=40, min_after_dequeue=16, num_threads=3, seed=2)
            kernel = v1.get_variable("kernel", initializer=np.ones((4, 1), np.float32))
            output = tf.squeeze(tf.matmul(features, kernel), 1)
            self.loss = tf.identity(v1.losses.mean_squared_error(labels, output), name="loss")
            self.train = v1.train.MomentumOptimizer(RATE, 0.9).minimize(self.loss, name="train")
            self.init = [v1.global_variables_initializer(), v1.local_variables_initializer()]

    def write(self, folder):
        with self.graph.as_default():
            v1.train.export_meta_graph(str(folder / "train.meta"))
        job = folder / "job.yaml"
        job.write_text("graph: {meta_graph: train.meta, train_op: train}\nsteps: 100\n"
                       "hooks: {logging: {every_steps: 1}}\n", encoding="utf-8")
        return job

    def curve(self):
        with self.graph.as_default(), v1.Session() as session:
            session.run(self.init)
            coordinator = v1.train.Coordinator()
            threads = v1.train.start_queue_runners(session, coordinator)
            curve = []
            try:
                while True:
                    curve.append(session.run([self.loss, self.train])[0])
            except tf.errors.OutOfRangeError:
                pass
            coordinator.request_stop()
            coordinator.join(threads)
        return curve


def test_queue_runners_fill_the_queues_until_the_data_end(tmp_path):
    x, y = train_jobs.examples(ROWS)
    for part in range(2):
        rows = slice(part * 32, part * 32 + 32)
        train_jobs.write_examples(tmp_path / f"{part}.tfrecord", x[rows], y[rows])
    model = QueueModel([tmp_path / "0.tfrecord", tmp_path / "1.tfrecord"], epochs=2)
    expected = model.curve()
    assert len(expected) == 2 * ROWS / BATCH
    process = train(model.write(tmp_path))
    np.testing.assert_allclose(list(losses(process).values()), expected, rtol=1e-4)
    (stop,) = [r for r in records(process) if r["event"] == "stop"]
    assert stop["reason"] == "the graph's own data have ended"
    # A run that goes on reads them from the beginning, for all epochs.
    resumed = train(tmp_path / "job.yaml")
    assert list(losses(resumed)) == list(range(17, 33))


def test_shuffled_queues_without_an_end_feed_all_steps(tmp_path):
    train_jobs.write_examples(tmp_path / "train.tfrecord", *train_jobs.examples(ROWS))
    model = QueueModel([tmp_path / "train.tfrecord"], epochs=None, in_order=False)
    curve = list(losses(train(model.write(tmp_path))).values())
    assert len(curve) == 100
    # The queue has no seed, so that the losses depend on its order.
    assert np.mean(curve[-10:]) < 0.1 * np.mean(curve[:5])


def test_a_file_that_queues_cannot_read_ends_the_run_with_its_name(tmp_path):
    (tmp_path / "damaged.tfrecord").write_bytes(b"no record at all")
    for name in ("damaged.tfrecord", "missing.tfrecord"):
        process = train(QueueModel([tmp_path / name], epochs=1).write(tmp_path), resume="false")
        assert process.returncode == 6, process.stderr
        assert name in process.stderr and "queue 'batch/fifo_queue'" in process.stderr


def test_sigterm_ends_a_step_that_waits_for_a_queue(tmp_path):
    x, y = train_jobs.examples(ROWS)
    graph = v1.Graph()
    with graph.as_default():
        # Has what is put there at the start, and is never closed.
        source = v1.FIFOQueue(ROWS, [tf.float32, tf.float32], [[4], []])
        queue = v1.FIFOQueue(ROWS, [tf.float32, tf.float32], [[4], []])
        v1.train.add_queue_runner(v1.train.QueueRunner(queue, [queue.enqueue(source.dequeue())]))
        features, labels = queue.dequeue_many(BATCH)
        kernel = v1.get_variable("kernel", initializer=np.ones((4, 1), np.float32))
        output = tf.squeeze(tf.matmul(features, kernel), 1)
        loss = tf.identity(v1.losses.mean_squared_error(labels, output), name="loss")
        v1.train.GradientDescentOptimizer(RATE).minimize(loss, name="train")
        variables = v1.variables_initializer(v1.global_variables(), name="init_variables")
        tf.group(variables, source.enqueue_many([x, y]), name="init")
        v1.train.export_meta_graph(str(tmp_path / "train.meta"))
    job = tmp_path / "job.yaml"
    job.write_text("graph: {meta_graph: train.meta, train_op: train}\nsteps: 100\n"
                   "hooks: {logging: {every_steps: 1}}\n", encoding="utf-8")
    train_jobs.stop_behind_step(job, ROWS / BATCH)
    # The next run goes on after the last whole step, with the data from the beginning.
    assert list(losses(train(job, steps=12))) == [9, 10, 11, 12]


def test_bfloat16_products_stay_near_the_curve(tmp_path):
    graph = v1.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        random = np.random.default_rng(0)
        filters = v1.get_variable(
            "filters", initializer=random.normal(0, 0.5, (2, 2, 1, 8)).astype(np.float32))
        pixels = tf.nn.relu(tf.nn.conv2d(tf.reshape(x, [-1, 2, 2, 1]), filters, 1, "SAME"))
        pixels = tf.reshape(pixels, [-1, 4, 8])
        similar = tf.reshape(tf.matmul(pixels, pixels, transpose_b=True), [-1, 16])
        kernel = v1.get_variable(
            "kernel", initializer=random.normal(0, 0.3, (16, 1)).astype(np.float32))
        tf.squeeze(tf.matmul(similar, kernel), 1, name="output")
        v1.train.export_meta_graph(str(tmp_path / "forward.meta"))
    spec = added_to("forward.meta", "optimizer: {type: adam, learning_rate: 0.01}")
    job = write_job(tmp_path, spec)
    exact = list(losses(train(job, steps=20, folder="exact")).values())
    rounded = list(losses(train(job, steps=20, folder="rounded", precision="bfloat16")).values())
    assert rounded != exact
    np.testing.assert_allclose(rounded, exact, rtol=0.05)
    # Variables stay float, so that the run may go on in full precision.
    reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(
        str(tmp_path / "rounded" / "checkpoints")))
    assert reader.get_variable_to_dtype_map()["kernel"] == tf.float32


def test_an_export_without_an_input_that_its_outputs_need_is_refused(tmp_path):
    Model(False).write(tmp_path / "forward.meta")
    spec = added_to("forward.meta", "optimizer: {type: sgd, learning_rate: 0.05}")
    job = write_job(tmp_path, spec)
    process = train(job, steps=1, export="{base_path: served, outputs: {y: output}}")
    assert process.returncode == 3 and "the outputs need 'x'" in process.stderr
    assert "--set export" in process.stderr and not (tmp_path / "run").exists()
    # An input in the middle of the graph takes the place of what is before it.
    middle = "{base_path: served, inputs: {h: Tanh}, outputs: {y: output}}"
    assert train(job, "--dry-run", export=middle, steps=1).returncode == 0


def test_wrong_specs_are_refused_with_the_remedy(tmp_path):
    Model(False).write(tmp_path / "forward.meta")
    spec = added_to("forward.meta", "optimizer: {type: adamm, learning_rate: 0.05}")
    process = train(write_job(tmp_path, spec), steps=1)
    assert process.returncode != 0 and "did you mean 'adam'?" in process.stderr
    assert re.search(r"job\.yaml:[1-9]\d*: error: graph: graph\.optimizer\.type", process.stderr)
    for values, text in (("{X: 1}", "did you mean 'x'?"), ("{y: 1}", "feed it by a field")):
        job = write_job(tmp_path, f"{spec.replace('adamm', 'adam')}\n  train_values: {values}")
        process = train(job, steps=1)
        assert process.returncode != 0 and text in process.stderr
    process = train(write_job(tmp_path, "meta_graph: forward.meta"), steps=1)
    assert process.returncode != 0 and "add graph.optimizer and graph.loss" in process.stderr


def test_all_that_is_wrong_with_what_is_added_is_told_at_once(tmp_path):
    Model(False).write(tmp_path / "forward.meta")
    job = write_job(tmp_path, added_to("forward.meta", "optimizer: {type: adams}"))
    process = train(job, "--dry-run", steps=1, graph__loss__type="hubert",
                    graph__schedule="{type: cosin}", graph__clip="{norm: -1}")
    assert process.returncode == 3
    lines = process.stdout.splitlines()
    assert lines[-1] == "4 errors, 0 warnings"
    for line, text in zip(lines, ("did you mean 'huber'?", "did you mean 'adam'?",
                                  "did you mean 'cosine'?", "graph.clip.norm is -1")):
        assert text in line


def test_an_init_op_that_changes_nothing_is_refused(tmp_path):
    Model(False).write(tmp_path / "forward.meta")
    job = write_job(tmp_path, added_to("forward.meta", "optimizer: {type: sgd, learning_rate: 1}"))
    process = train(job, graph__init_op="kernel/initial_value", steps=1)
    assert process.returncode == 3
    assert "'kernel/initial_value' (op Const), which initialises nothing" in process.stderr
    assert train(job, graph__init_op="init", steps=1).returncode == 0
