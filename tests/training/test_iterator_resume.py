"""Runs of `tessera train` that go on in the data of their graph's own iterators."""

import json
import signal
import subprocess

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tensorflow.python.data.experimental.ops import testing  # noqa: E402

from clients.server import environment  # noqa: E402
from training import train_jobs  # noqa: E402
from training.train_jobs import command, losses, records, train  # noqa: E402

v1 = tf.compat.v1
ROWS, BATCH, STEPS = 64, 8, 30
JOB = """
graph: {meta_graph: train.meta, train_op: train, init_op: init_all}
steps: %d
seed: 1
threads: 1
hooks: {logging: {every_steps: 1}}
"""


def write_job(folder, read):
    """Writes the job of a graph that trains on features and labels; read() gives initializers, too."""
    graph = v1.Graph()
    with graph.as_default():
        features, labels, initializers = read()
        kernel = v1.get_variable("kernel", initializer=np.ones((4, 1), np.float32))
        output = tf.squeeze(tf.matmul(tf.reshape(features, [-1, 4]), kernel), 1)
        loss = tf.identity(v1.losses.mean_squared_error(labels, output), name="loss")
        step = v1.train.get_or_create_global_step()
        v1.train.GradientDescentOptimizer(0.01).minimize(loss, step, name="train")
        tf.group(v1.global_variables_initializer(), *initializers, name="init_all")
        v1.train.export_meta_graph(str(folder / "train.meta"))
    job = folder / "job.yaml"
    job.write_text(JOB % STEPS, encoding="utf-8")
    return job


def examples(rows=ROWS):
    return tf.data.Dataset.from_tensor_slices(train_jobs.examples(rows))


def initializable(dataset):
    iterator = v1.data.make_initializable_iterator(dataset)
    return (*iterator.get_next(), [iterator.initializer])


def one_shot(dataset):
    return (*v1.data.make_one_shot_iterator(dataset).get_next(), [])


def noisy(x, y):
    return x + tf.random.normal([4], stddev=0.1), y


def shuffled():
    return examples().shuffle(20, seed=3).repeat().batch(BATCH)


def two_iterators():
    x, y = train_jobs.examples(ROWS)

    def column(values):
        dataset = tf.data.Dataset.from_tensor_slices(values).shuffle(16, seed=5).repeat()
        return v1.data.make_initializable_iterator(dataset.batch(BATCH))

    features, labels = column(x), column(y)
    return (features.get_next(), labels.get_next(),
            [features.initializer, labels.initializer])


READS = {
    "one shot": lambda: one_shot(shuffled()),
    "initializable": lambda: initializable(shuffled()),
    "prefetched": lambda: initializable(shuffled().prefetch(3)),
    "random map": lambda: initializable(
        examples().map(noisy).shuffle(9, seed=2).repeat().batch(BATCH)),
    "parallel": lambda: initializable(
        examples().repeat().map(lambda x, y: (2 * x, y), num_parallel_calls=2).batch(BATCH)),
    "interleaved": lambda: one_shot(tf.data.Dataset.range(5).interleave(
        lambda i: examples().skip(i), cycle_length=3, block_length=2).repeat().batch(BATCH)),
    "cached": lambda: initializable(
        examples().map(noisy).cache().shuffle(9, seed=2).repeat().batch(BATCH)),
    "shuffled cache": lambda: initializable(
        examples().shuffle(20, seed=3).batch(2 * BATCH).cache().repeat()),
    "two": two_iterators,
    "windows": lambda: one_shot(
        examples().window(BATCH, shift=3).shuffle(4, seed=2).repeat().flat_map(
            lambda x, y: tf.data.Dataset.zip((x, y))).batch(BATCH)),
    "windows of windows": lambda: one_shot(
        tf.data.Dataset.zip((examples().map(lambda x, y: x).window(3).window(2),
                             examples().map(lambda x, y: y).window(3).window(2))).repeat().flat_map(
            lambda x, y: tf.data.Dataset.zip((x.flat_map(lambda w: w), y.flat_map(lambda w: w)))
        ).batch(BATCH)),
    "grouped": lambda: one_shot(examples().repeat().group_by_window(
        lambda x, y: tf.cast(y > 0, tf.int64), lambda key, window: window.batch(3),
        window_size=5).unbatch().batch(BATCH)),
}


def begins_anew(process):
    """The reasons that a run tells why data begin anew, by the event."""
    return {each["event"]: each["data_begin_anew"] for each in records(process)
            if "data_begin_anew" in each}


@pytest.mark.parametrize("read", list(READS))
def test_a_resumed_run_stays_on_the_curve(read, tmp_path):
    job = write_job(tmp_path, READS[read])
    whole = losses(train(job, folder="whole"))
    assert len(set(whole.values())) == STEPS
    parts = {}
    for steps in (7, 16, 17, STEPS):
        process = train(job, steps=steps, hooks__checkpoint__every_steps=4)
        parts |= losses(process)
        assert begins_anew(process) == {}
    assert parts == whole


def test_tensorflow_reads_the_checkpoint(tmp_path):
    job = write_job(tmp_path, READS["initializable"])
    assert train(job, steps=9).returncode == 0
    prefix = tf.train.latest_checkpoint(str(tmp_path / "run" / "checkpoints"))
    reader = tf.train.load_checkpoint(prefix)
    assert isinstance(reader.get_tensor("_tessera/iterators/IteratorV2/position"), bytes)
    graph = v1.Graph()
    with graph.as_default(), v1.Session() as session:
        v1.train.import_meta_graph(str(tmp_path / "train.meta"))
        v1.train.Saver().restore(session, prefix)
        for variable in v1.global_variables():
            np.testing.assert_array_equal(session.run(variable.value()),
                                          reader.get_tensor(variable.op.name))
    assert reader.get_tensor("global_step") == 9


def slow():
    """Batches that take far longer than their steps. Each row is told on stderr."""
    def told(x, y):
        with tf.control_dependencies([tf.print("row")]):
            return tf.identity(x), y

    rows = examples().shuffle(11, seed=4).repeat().apply(testing.sleep(10_000))
    return initializable(rows.map(told).batch(BATCH))


@pytest.mark.parametrize("every", [2, 1000])
def test_a_stop_that_interrupts_a_wait_leaves_the_curve(every, tmp_path):
    job = write_job(tmp_path, slow)
    settings = {"steps": 10, "hooks__checkpoint__every_steps": every}
    whole = losses(train(job, folder="whole", **settings))
    seen, interrupted = {}, 0
    while len(seen) < len(whole):
        process = subprocess.Popen(command(job, **settings), stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, env=environment())
        lines, steps, is_stopped = [], 0, False
        for line in process.stdout:
            if line.startswith("{"):
                lines.append(json.loads(line))
                steps += lines[-1]["event"] == "step"
            elif line == "row\n" and steps == 3 and not is_stopped:
                process.send_signal(signal.SIGTERM)  # seven more rows of the batch are to be read
                is_stopped = True
        assert process.wait(train_jobs.SECONDS) == 0
        assert not any("data_begin_anew" in each for each in lines)
        seen |= {each["step"]: each["loss"] for each in lines if each["event"] == "step"}
        saved = tf.train.load_checkpoint(
            tf.train.latest_checkpoint(str(tmp_path / "run" / "checkpoints")))
        interrupted += saved.has_tensor("_tessera/iterators/IteratorV2/position_taken")
    assert seen == whole
    assert interrupted > 0


def test_a_place_that_cannot_be_saved_is_told_once(tmp_path):
    job = write_job(tmp_path, lambda: initializable(
        examples().snapshot(str(tmp_path / "snapshot")).repeat().batch(BATCH)))
    first = train(job, steps=6, hooks__checkpoint__every_steps=2)
    assert len(losses(first)) == 6
    told = [each for each in records(first) if "data_begin_anew" in each]
    assert [(each["event"], each["step"]) for each in told] == [("checkpoint", 2)]
    assert "iterator 'IteratorV2' cannot be saved" in told[0]["data_begin_anew"]
    assert "snapshot" in told[0]["data_begin_anew"]
    second = train(job, steps=10)
    assert "does not say where the graph's iterator 'IteratorV2' was" in begins_anew(
        second)["resume"]
    # From the first batch on.
    assert list(losses(second)) == [7, 8, 9, 10]


def test_a_complete_snapshot_has_a_place(tmp_path):
    snapshot = str(tmp_path / "snapshot")
    job = write_job(tmp_path, lambda: initializable(examples().snapshot(
        snapshot, shard_func=lambda x, y: tf.cast(y > 0, tf.int64)).repeat().batch(BATCH)))
    train(job, steps=ROWS // BATCH + 1, folder="writes")
    whole = losses(train(job, folder="whole"))
    parts = {}
    for steps in (3, ROWS // BATCH + 2, STEPS):
        process = train(job, steps=steps)
        assert begins_anew(process) == {}
        parts |= losses(process)
    assert parts == whole


@pytest.mark.parametrize("change, is_other", [("batch", True), ("seed", False)])
def test_a_position_belongs_to_its_pipeline(change, is_other, tmp_path):
    def read(size=BATCH):
        return initializable(examples().map(noisy).repeat().batch(size))

    job = write_job(tmp_path, read)
    assert begins_anew(train(job, steps=5)) == {}
    if change == "batch":
        write_job(tmp_path, lambda: read(4))
        process = train(job, steps=8)
    else:
        process = train(job, steps=8, seed=7)
    assert list(losses(process)) == [6, 7, 8]
    reason = begins_anew(process).get("resume", "")
    assert ("another pipeline behind the graph's iterator 'IteratorV2'" in reason) == is_other


def test_data_that_have_ended_stay_so(tmp_path):
    job = write_job(tmp_path, lambda: initializable(examples().batch(BATCH)))
    assert list(losses(train(job))) == list(range(1, ROWS // BATCH + 1))
    process = train(job)
    assert losses(process) == {}
    (stop,) = [each for each in records(process) if each["event"] == "stop"]
    assert stop["reason"] == "the graph's own data have ended"
    assert len(losses(train(job, resume="false"))) == ROWS // BATCH


def test_a_damaged_position_is_refused(tmp_path):
    job = write_job(tmp_path, READS["one shot"])
    assert train(job, steps=3).returncode == 0
    prefix = tf.train.latest_checkpoint(str(tmp_path / "run" / "checkpoints"))
    reader = tf.train.load_checkpoint(prefix)
    values = {key: reader.get_tensor(key) for key in reader.get_variable_to_shape_map()}
    key = "_tessera/iterators/OneShotIterator/position"
    values[key] = np.array(values[key].split(b"\n")[0] + b"\nspoiled", dtype=object)
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=list(values), shape_and_slices=[""] * len(values),
                      tensors=[tf.constant(value) for value in values.values()])
    process = train(job, steps=5)
    assert process.returncode == 7, process.stderr
    assert f"'{key}' is damaged" in process.stderr
