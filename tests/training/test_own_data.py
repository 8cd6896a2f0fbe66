"""`tessera train` on graphs that read data by iterators of their own: the end, waits, damage."""


import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from training import train_jobs  # noqa: E402
from training.train_jobs import losses, records, train  # noqa: E402

v1 = tf.compat.v1
ROWS, BATCH = 64, 8


def write_job(folder, rows, steps=100):
    """Writes the job of a graph that trains on the elements of rows(), and returns its path."""
    graph = v1.Graph()
    with graph.as_default():
        dataset = rows()
        iterator = v1.data.make_initializable_iterator(dataset)
        features, labels = iterator.get_next()
        kernel = v1.get_variable("kernel", initializer=np.ones((4, 1), np.float32))
        output = tf.squeeze(tf.matmul(tf.reshape(features, [-1, 4]), kernel), 1)
        loss = tf.identity(v1.losses.mean_squared_error(labels, output), name="loss")
        step = v1.train.get_or_create_global_step()
        v1.train.GradientDescentOptimizer(0.05).minimize(loss, step, name="train")
        tf.group(v1.global_variables_initializer(), iterator.initializer, name="init_all")
        v1.train.export_meta_graph(str(folder / "train.meta"))
    job = folder / "job.yaml"
    job.write_text("graph: {meta_graph: train.meta, train_op: train, init_op: init_all}\n"
                   f"steps: {steps}\nhooks: {{logging: {{every_steps: 1}}}}\n", encoding="utf-8")
    return job


def examples():
    return tf.data.Dataset.from_tensor_slices(train_jobs.examples(ROWS))


def never(*_):
    """False, in a way that no optimiser sees."""
    return tf.random.uniform([]) > 2


# Each has eight batches, and then none, though it does not end.
WAITING = {
    "filtered": lambda: examples().batch(BATCH).concatenate(
        examples().repeat().filter(never).batch(BATCH)),
    "prefetched": lambda: examples().batch(BATCH).concatenate(
        examples().repeat().filter(never).batch(BATCH)).prefetch(2),
    "mapped": lambda: examples().repeat().enumerate().filter(lambda i, _: i < ROWS).map(
        lambda _, row: row).batch(BATCH),
    "flat": lambda: examples().batch(BATCH).concatenate(
        tf.data.Dataset.range(1).flat_map(lambda _: examples().repeat().filter(never))
        .batch(BATCH)),
}


@pytest.mark.parametrize("pipeline", list(WAITING))
def test_sigterm_ends_a_step_that_waits_for_an_iterator(pipeline, tmp_path):
    job = write_job(tmp_path, WAITING[pipeline])
    train_jobs.stop_behind_step(job, ROWS / BATCH)
    # What the step did not do is not in the checkpoint either.
    saved = tf.train.latest_checkpoint(str(tmp_path / "run" / "checkpoints"))
    assert tf.train.load_checkpoint(saved).get_tensor("global_step") == ROWS / BATCH
    # The next run waits for the same batch, which is no batch from the beginning.
    process = train(job, hooks__stop__step_timeout_seconds=1)
    assert process.returncode == 9, process.stderr
    assert "step 9: the step did not end" in process.stderr
    assert not any("data_begin_anew" in each for each in records(process))


def test_the_end_of_an_iterator_ends_a_complete_run(tmp_path):
    job = write_job(tmp_path, lambda: examples().repeat(2).batch(BATCH))
    process = train(job)
    assert list(losses(process)) == list(range(1, 2 * ROWS // BATCH + 1))
    (stop,) = [each for each in records(process) if each["event"] == "stop"]
    assert stop["reason"] == "the graph's own data have ended"


def test_an_error_with_the_code_of_the_end_is_no_end_of_the_data(tmp_path):
    job = write_job(tmp_path, lambda: examples().batch(BATCH).repeat())
    graph = v1.Graph()
    with graph.as_default():
        v1.train.import_meta_graph(str(tmp_path / "train.meta"))
        empty = v1.FIFOQueue(1, [tf.float32], name="empty")
        with tf.control_dependencies([empty.close()]):
            nothing = empty.dequeue()
        tf.group(graph.get_operation_by_name("train"), nothing.op, name="train_and_fail")
        v1.train.export_meta_graph(str(tmp_path / "train.meta"))
    job.write_text(job.read_text(encoding="utf-8").replace("train_op: train,",
                                                           "train_op: train_and_fail,"),
                   encoding="utf-8")
    process = train(job)
    assert process.returncode == 1, process.stderr
    assert "step 1: OUT_OF_RANGE" in process.stderr or "OUT_OF_RANGE: step 1" in process.stderr


@pytest.mark.parametrize("spoil", ["cut", "damaged"])
def test_records_that_are_damaged_end_the_run_with_their_file(spoil, tmp_path):
    path = tmp_path / "rows.tfrecord"
    train_jobs.write_examples(path, *train_jobs.examples(ROWS))
    contents = path.read_bytes()
    half = len(contents) // 2 + 20
    path.write_bytes(contents[:half] if spoil == "cut" else
                     contents[:half] + bytes([contents[half] ^ 1]) + contents[half + 1:])

    def rows():
        def parse(record):
            parsed = tf.io.parse_single_example(record, {
                "x": tf.io.FixedLenFeature([4], tf.float32),
                "y": tf.io.FixedLenFeature([], tf.float32)})
            return parsed["x"], parsed["y"]

        return tf.data.TFRecordDataset(str(path)).map(parse).batch(BATCH)

    process = train(write_job(tmp_path, rows))
    assert process.returncode == 6, process.stderr
    assert str(path) in process.stderr and "step " in process.stderr
