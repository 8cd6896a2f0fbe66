#!/usr/bin/env python3
"""What the executor costs a node, against TensorFlow's: 10,000 small nodes, one thread.

    scripts/bench executor [--rounds=N] [--nodes=N] [--only=NAME]

Builds //benchmarks:executor_runner first; TESSERA_EXECUTOR_RUNNER names one that is built already.

Both sides run the same GraphDef. Neither folds constants, removes identities or rewrites anything
("plain"), so that the nodes really are in the graph that the executor gets; the last column is ours
with its optimiser, as it serves. TensorFlow's Session runs a prepared callable on the calling
thread; what such a call costs for a graph without nodes is subtracted from its times, and from ours
nothing. Rounds of both alternate.
"""
import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.core.protobuf import config_pb2  # noqa: E402

tf1 = tf.compat.v1
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FEEDS = {"x:0": 0.0, "y:0": 1.0}


class Case:
    """A graph, and how it is run."""

    def __init__(self, name, graph_def, feeds=(), fetches=(), targets=()):
        self.name = name
        self.graph_def = graph_def
        self.feeds = list(feeds)
        self.fetches = list(fetches)
        self.targets = list(targets)


def lengths(nodes, chains):
    """Splits `nodes` into `chains` parts as equal as can be."""
    return [nodes // chains + (i < nodes % chains) for i in range(chains)]


def value_case(op, nodes, chains):
    """Chains of AddV2 (x = x + y) or Identity; their ends are summed into what is fetched."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        y = tf1.placeholder(tf.float32, [], name="y")
        ends = []
        for length in lengths(nodes, chains):
            value = x
            for _ in range(length):
                if op == "AddV2":
                    value = tf.raw_ops.AddV2(x=value, y=y)
                else:
                    value = tf.raw_ops.Identity(input=value)
            ends.append(value)
        result = ends[0] if chains == 1 else tf.raw_ops.AddN(inputs=ends)
        feeds = ["x:0", "y:0"] if op == "AddV2" else ["x:0"]
        return Case(f"{op}, {chains}", graph.as_graph_def(), feeds=feeds, fetches=[result.name])


def no_op_case(nodes, chains):
    """Chains of NoOp along control edges, which all lead to the target."""
    with tf.Graph().as_default() as graph:
        ends = []
        for length in lengths(nodes, chains):
            last = None
            for _ in range(length):
                with tf.control_dependencies([] if last is None else [last]):
                    last = tf.raw_ops.NoOp()
            ends.append(last)
        with tf.control_dependencies(ends):
            tf.raw_ops.NoOp(name="done")
        return Case(f"NoOp, {chains}", graph.as_graph_def(), targets=["done"])


def fan_case(nodes):
    """AddV2 nodes that all read the same two values: none can work in the memory of an input."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        y = tf1.placeholder(tf.float32, [], name="y")
        readers = [tf.raw_ops.AddV2(x=x, y=y) for _ in range(nodes)]
        with tf.control_dependencies(readers):
            tf.raw_ops.NoOp(name="done")
        return Case("AddV2, fan", graph.as_graph_def(), feeds=["x:0", "y:0"], targets=["done"])


def loop_case(iterations, functional):
    """A loop whose body is one AddV2 beside its counter, as v1 control flow or as a While op."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        y = tf1.placeholder(tf.float32, [], name="y")
        (tf1.enable_control_flow_v2 if functional else tf1.disable_control_flow_v2)()
        _, result = tf.while_loop(lambda i, _: i < iterations,
                                  lambda i, value: (i + 1, value + y), [0, x])
        name = "While op" if functional else "v1 loop"
        return Case(name, graph.as_graph_def(), feeds=["x:0", "y:0"], fetches=[result.name])


def cases(nodes):
    for op in ("AddV2", "Identity"):
        for chains in (1, 64):
            yield value_case(op, nodes, chains)
    for chains in (1, 64):
        yield no_op_case(nodes, chains)
    yield fan_case(nodes)
    yield loop_case(nodes, functional=False)
    yield loop_case(nodes, functional=True)


class TensorFlow:
    """A prepared call of a Session that runs what it is given, on the calling thread."""

    def __init__(self, case, executor="DEFAULT"):
        config = tf1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
        config.graph_options.optimizer_options.opt_level = tf1.OptimizerOptions.L0
        rewrite = config.graph_options.rewrite_options
        rewrite.disable_meta_optimizer = True
        rewrite.constant_folding = 2  # OFF
        if executor != "DEFAULT":
            config.experimental.executor_type = executor
        graph = tf.Graph()
        with graph.as_default():
            tf.import_graph_def(case.graph_def, name="")
        self._session = tf1.Session(graph=graph, config=config)
        options = tf1.RunOptions(inter_op_thread_pool=-1)
        callable_options = config_pb2.CallableOptions()
        callable_options.feed.extend(case.feeds)
        callable_options.fetch.extend(case.fetches)
        callable_options.target.extend(case.targets)
        callable_options.run_options.CopyFrom(options)
        self._call = self._session._make_callable_from_options(callable_options)
        self._feeds = [np.float32(FEEDS[name]) for name in case.feeds]

    def run(self, runs):
        """Seconds of each of `runs` runs."""
        times = []
        for _ in range(runs):
            start = time.perf_counter()
            self._call(*self._feeds)
            times.append(time.perf_counter() - start)
        return times

    def result(self):
        results = self._call(*self._feeds)
        return float(results[0]) if results else None


def runner_command(runner, case, directory, flags=()):
    """How executor_runner is called for a case, whose graph it puts into `directory`."""
    path = os.path.join(directory, case.name.replace(",", "").replace(" ", "_") + ".pb")
    with open(path, "wb") as file:
        file.write(case.graph_def.SerializeToString())
    return [runner, f"--graph={path}", *flags,
            *(f"--feed={name}={FEEDS[name]}" for name in case.feeds),
            *(f"--fetch={name}" for name in case.fetches),
            *(f"--target={name}" for name in case.targets)]


class Ours:
    """The runner as a child that waits for orders."""

    def __init__(self, runner, case, directory, flags=()):
        self._process = subprocess.Popen(runner_command(runner, case, directory, flags),
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def _ask(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("executor_runner ended")
        return answer.strip()

    def run(self, runs):
        return [int(ns) * 1e-9 for ns in self._ask(str(runs)).split()]

    def result(self):
        self.run(1)
        answer = self._ask("result")
        return None if answer == "none" else float(answer.split()[-1])

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def measure(sides, rounds, runs):
    """Seconds of each run of each side, the sides taking turns."""
    times = {name: [] for name in sides}
    for side in sides.values():
        side.run(3)
    for _ in range(rounds):
        for name, side in sides.items():
            times[name] += side.run(runs)
    return times


def find_runner():
    runner = os.environ.get("TESSERA_EXECUTOR_RUNNER")
    if runner:
        return runner
    subprocess.run(["bazel", "build", "//benchmarks:executor_runner"], cwd=ROOT, check=True,
                   stdout=sys.stderr)
    return os.path.join(ROOT, "bazel-bin/benchmarks/executor_runner")


def rate(nodes, seconds):
    return nodes / max(seconds, 1e-9) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--runs", type=int, default=10, help="runs of each side a round")
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    args = parser.parse_args()
    runner = find_runner()

    empty = TensorFlow(no_op_case(1, 1))
    call = min(measure({"": empty}, args.rounds, 100)[""])
    print(f"TensorFlow {tf.__version__}, {platform.processor() or platform.machine()}, "
          f"{args.nodes} nodes, one thread. Millions of nodes a second: best run (median run).")
    print(f"A call of TensorFlow's session without nodes: {call * 1e6:.1f} us, subtracted.\n")
    print("| op, chains | TensorFlow | TensorFlow, single-threaded executor | ours | "
          "ours to TensorFlow | ours, optimised |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as directory:
        for case in cases(args.nodes):
            if args.only not in case.name:
                continue
            sides = {
                "tf": TensorFlow(case),
                "ours": Ours(runner, case, directory),
                "optimised": Ours(runner, case, directory, ["--optimize"]),
            }
            try:
                sides["tf1"] = TensorFlow(case, "SINGLE_THREADED_EXECUTOR")
            except tf.errors.FailedPreconditionError:
                pass  # it takes no v1 control flow
            results = {name: side.result() for name, side in sides.items()}
            if len(set(results.values())) != 1:
                raise SystemExit(f"{case.name}: the sides do not agree: {results}")
            times = measure(sides, args.rounds, args.runs)
            for name in sides.keys() & {"tf", "tf1"}:
                times[name] = [max(t - call, 1e-9) for t in times[name]]
            best = {name: rate(args.nodes, min(t)) for name, t in times.items()}
            middle = {name: rate(args.nodes, statistics.median(t)) for name, t in times.items()}
            cell = {name: f"{best[name]:.1f} ({middle[name]:.1f})" for name in sides}
            print(f"| {case.name} | {cell['tf']} | {cell.get('tf1', '')} | {cell['ours']} | "
                  f"{best['ours'] / best['tf']:.2f} ({middle['ours'] / middle['tf']:.2f}) | "
                  f"{cell['optimised']} |", flush=True)
            sides["ours"].close()
            sides["optimised"].close()


if __name__ == "__main__":
    main()
