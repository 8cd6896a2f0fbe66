#!/usr/bin/env python3
"""Training steps of recorded graphs, against TensorFlow's.

    scripts/bench train [GRAPH/OPTIMIZER...] [--threads=N] [--steps=N] [--rounds=N]

The graphs are those of ../shared/training (TESSERA_SHARED names another folder) in the style of TF1:
both sides run the same MetaGraph, with the gradients and the optimizer in it, on the same number of
threads and by a prepared call. The sides take turns; the table shows the median of all steps, in
microseconds. That both reach the same losses is what scripts/check_training shows.

Builds //benchmarks:train_runner first; TESSERA_TRAIN_RUNNER names one that is built already.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf  # noqa: E402
from tensorflow.core.protobuf import config_pb2, meta_graph_pb2  # noqa: E402
from tensorflow_serving.apis import predict_pb2  # noqa: E402

tf1 = tf.compat.v1
ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = pathlib.Path(os.environ.get("TESSERA_SHARED", ROOT.parent / "shared"))
CASES = (
    "linear_regression_resource/momentum",
    "logistic_regression/ftrl",
    "mlp_digits/adam",
    "embedding_sparse_updates/adagrad",
    "lenet_lrn/momentum",
    "lstm_while_v1/adam",
    "attention_block/adam",
)


class Ours:
    """A process that trains one graph."""

    def __init__(self, runner, folder, optimizer, threads):
        command = [runner, folder, optimizer, f"--threads={threads}"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True)

    def run(self, steps):
        """Seconds of each step."""
        print(steps, file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            sys.exit("train: the runner has ended")
        return [int(nanoseconds) * 1e-9 for nanoseconds in line.split()]

    def close(self):
        self._process.stdin.close()
        self._process.wait()


class TensorFlows:
    """The same in a session of TensorFlow."""

    def __init__(self, folder, optimizer, threads):
        meta = meta_graph_pb2.MetaGraphDef()
        meta.ParseFromString((folder / f"train_{optimizer}.meta").read_bytes())
        with tf.Graph().as_default() as graph:
            tf1.import_graph_def(meta.graph_def, name="")
        config = tf1.ConfigProto(intra_op_parallelism_threads=threads,
                                 inter_op_parallelism_threads=threads)
        session = tf1.Session(graph=graph, config=config)
        session.run("init")
        feeds = read_feed(folder / "feed_0.pb")
        options = config_pb2.CallableOptions(feed=list(feeds), target=["train_op"])
        self._step = session._make_callable_from_options(options)
        self._values = list(feeds.values())

    def run(self, steps):
        """Seconds of each step."""
        times = []
        for _ in range(steps):
            start = time.perf_counter()
            self._step(*self._values)
            times.append(time.perf_counter() - start)
        return times


def read_feed(path):
    """The arrays of a PredictRequest, by name."""
    request = predict_pb2.PredictRequest()
    request.ParseFromString(path.read_bytes())
    return {name: tf.make_ndarray(proto) for name, proto in request.inputs.items()}


def measure(runner, name, options):
    """The medians of both sides, in seconds."""
    graph, optimizer = name.split("/")
    folder = SHARED / "training" / graph
    ours = Ours(runner, folder, optimizer, options.threads)
    theirs = TensorFlows(folder, optimizer, options.threads)
    times = [], []
    for side in (ours, theirs):
        side.run(options.steps // 4 + 1)  # to warm up
    for _ in range(options.rounds):
        for side, found in zip((ours, theirs), times):
            found += side.run(options.steps)
    ours.close()
    return [statistics.median(found) for found in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=CASES, metavar="GRAPH/OPTIMIZER")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=200, help="of a round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    runner = os.environ.get("TESSERA_TRAIN_RUNNER")
    if runner is None:
        subprocess.run(["bazel", "build", "//benchmarks:train_runner"], cwd=ROOT, check=True)
        runner = ROOT / "bazel-bin/benchmarks/train_runner"
    print(f"{'graph/optimizer':40} {'ours, us':>10} {'TensorFlow':>11} {'ratio':>6}")
    for name in options.cases:
        ours, theirs = measure(runner, name, options)
        print(f"{name:40} {ours * 1e6:10.1f} {theirs * 1e6:11.1f} {theirs / ours:6.1f}", flush=True)


if __name__ == "__main__":
    main()
