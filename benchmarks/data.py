#!/usr/bin/env python3
"""Input pipelines, against tf.data.

    scripts/bench data [jpeg] [examples] [--threads=N...] [--rounds=N] [--seconds=S]

Both sides run the same graph of tf.data ops, with AUTOTUNE wherever tf.data takes it, and take the
batches without looking at them. `jpeg` parses records of 240x320 JPEGs, decodes them, resizes,
flips at random and scales, and batches 32. `examples` shuffles small records, batches 256 and parses
each batch. The sides take turns, each bound to as many cores as it has threads; the table shows the
median of all rounds, in examples a second.

Builds //benchmarks:data_runner first; TESSERA_DATA_RUNNER names one that is built already.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

import programs  # noqa: E402

tf1 = tf.compat.v1
AUTOTUNE = tf.data.AUTOTUNE


def feature(values):
    """A tf.train.Feature of bytes, floats or integers."""
    if isinstance(values, bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[values]))
    if values.dtype.kind == "f":
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def write_records(path, count, make):
    """A TFRecord file of `count` examples, each from the features that make(i) gives."""
    with tf.io.TFRecordWriter(str(path)) as writer:
        for i in range(count):
            features = {name: feature(values) for name, values in make(i).items()}
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())


class Jpeg:
    """Pictures that are smooth with some noise, as photographs are."""

    batch = 32

    @staticmethod
    def write(path):
        rng = np.random.default_rng(1)

        def make(i):
            coarse = rng.uniform(0, 255, (12, 16, 3)).astype(np.float32)
            picture = tf.image.resize(coarse, (240, 320), "bicubic").numpy()
            picture += rng.normal(0, 4, picture.shape)
            encoded = tf.io.encode_jpeg(np.clip(picture, 0, 255).astype(np.uint8), quality=90)
            return {"image": encoded.numpy(), "label": np.array([i % 10])}

        write_records(path, 256, make)

    @staticmethod
    def dataset(path):
        spec = {"image": tf.io.FixedLenFeature([], tf.string),
                "label": tf.io.FixedLenFeature([], tf.int64)}

        def prepare(record):
            parsed = tf.io.parse_single_example(record, spec)
            image = tf.io.decode_jpeg(parsed["image"], channels=3)
            image = tf.image.resize(image, (224, 224))
            image = tf.image.random_flip_left_right(image)
            return image / 127.5 - 1, parsed["label"]

        records = tf.data.TFRecordDataset(path).repeat().shuffle(64, seed=1)
        return records.map(prepare, AUTOTUNE).batch(Jpeg.batch, True).prefetch(AUTOTUNE)


class Examples:
    """Rows of a table."""

    batch = 256

    @staticmethod
    def write(path):
        rng = np.random.default_rng(2)
        write_records(path, 20000, lambda i: {
            "dense": rng.normal(size=16).astype(np.float32),
            "categories": rng.integers(0, 100000, 8),
            "label": np.array([i % 2])})

    @staticmethod
    def dataset(path):
        spec = {"dense": tf.io.FixedLenFeature([16], tf.float32),
                "categories": tf.io.FixedLenFeature([8], tf.int64),
                "label": tf.io.FixedLenFeature([], tf.int64)}
        records = tf.data.TFRecordDataset(path).repeat().shuffle(4096, seed=1)
        parsed = records.batch(Examples.batch, True).map(
            lambda batch: tf.io.parse_example(batch, spec), AUTOTUNE)
        return parsed.prefetch(AUTOTUNE)


CASES = {"jpeg": Jpeg, "examples": Examples}


def graph_of(case, path):
    """A graph with the operations `init` and `next`."""
    with tf.Graph().as_default() as graph:
        iterator = tf1.data.make_initializable_iterator(case.dataset(str(path)))
        with tf.control_dependencies([iterator.initializer]):
            tf.no_op("init")
        tensors = tf.nest.flatten(iterator.get_next())
        with tf.control_dependencies(tensors):
            tf.no_op("next")
    return graph


class Side:
    """A process that takes batches."""

    def __init__(self, command, threads):
        self._process = subprocess.Popen(
            command + [f"--threads={threads}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, preexec_fn=lambda: os.sched_setaffinity(0, range(threads)))

    def seconds(self, batches):
        print(batches, file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            sys.exit("data: a side has ended")
        return int(line) * 1e-9

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def take_with_tensorflow(path, threads):
    """What data_runner does, in TensorFlow."""
    import time

    graph_def = tf1.GraphDef.FromString(pathlib.Path(path).read_bytes())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    config = tf1.ConfigProto(intra_op_parallelism_threads=threads,
                             inter_op_parallelism_threads=threads)
    with tf1.Session(graph=graph, config=config) as session:
        session.run("init")
        take = session.make_callable(graph.get_operation_by_name("next"))
        for line in sys.stdin:
            start = time.perf_counter()
            for _ in range(int(line)):
                take()
            print(int((time.perf_counter() - start) * 1e9), flush=True)


def measure(name, case, folder, runner, threads, rounds, seconds):
    path = folder / f"{name}.tfrecord"
    if not path.exists():
        case.write(path)
    graph = folder / f"{name}.pb"
    graph.write_bytes(graph_of(case, path).as_graph_def().SerializeToString())
    sides = {"ours": Side([runner, str(graph)], threads),
             "tf.data": Side([sys.executable, __file__, f"--take={graph}"], threads)}
    rates = {side: [] for side in sides}
    counts = {}
    for side, process in sides.items():
        process.seconds(10)  # autotuning begins, buffers fill
        counts[side] = max(10, int(10 * seconds / process.seconds(10)))
    for _ in range(rounds):
        for side, process in sides.items():
            rates[side].append(counts[side] * case.batch / process.seconds(counts[side]))
    for process in sides.values():
        process.close()
    ours, theirs = (statistics.median(rates[side]) for side in ("ours", "tf.data"))
    programs.print_row(name, threads, f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--threads", type=int, action="append", help="default: 1 and 2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="of one side in one round")
    parser.add_argument("--take", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.take:
        take_with_tensorflow(arguments.take, arguments.threads[0])
        return
    unknown = [name for name in arguments.cases if name not in CASES]
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    runner = os.environ.get("TESSERA_DATA_RUNNER")
    if not runner:
        runner = str(programs.build("benchmarks/data_runner") / "benchmarks/data_runner")
    programs.print_head("pipeline", "threads", "ours, examples/s", "tf.data, examples/s", "ratio")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.cases or CASES:
            for threads in arguments.threads or (1, 2):
                measure(name, CASES[name], pathlib.Path(folder), runner, threads,
                        arguments.rounds, arguments.seconds)


if __name__ == "__main__":
    main()
