#!/usr/bin/env python3
"""What the executor costs a node, against TensorFlow's: 10,000 small nodes, one thread.

    scripts/bench executor [--rounds=N] [--nodes=N] [--only=NAME]

Builds //benchmarks:executor_runner first; TESSERA_EXECUTOR_RUNNER names one that is built already.

Both sides run the same GraphDef. Neither folds constants, removes identities or rewrites anything
("plain"), so that the nodes really are in the graph that the executor gets. TensorFlow's Session
runs a prepared callable on the calling thread, in its default and in its single-threaded executor:
the faster one is compared. The time of an empty call is subtracted from its steps, and nothing from
ours. What is compiled away costs nothing a node: where fewer nodes run than the graph has, the table
tells their number and the time of a step, and gives no ratio. The last column is ours with its
optimiser, as it serves. The sides take turns.
"""
import argparse
import functools
import os
import platform
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import programs
from tensorflow_calls import PreparedCall, TensorFlowPeer, fastest, session_config, tf, tf1

RUNNER = "benchmarks/executor_runner"
FEEDS = {"x:0": 0.0, "y:0": 1.0}


class Case:
    """A graph, and how it is run."""

    def __init__(self, name, graph_def, feeds=(), fetches=(), targets=(), is_loop=False):
        self.name = name
        self.is_loop = is_loop
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
        return Case(name, graph.as_graph_def(), feeds=["x:0", "y:0"], fetches=[result.name],
                    is_loop=True)


def cases(nodes):
    for op in ("AddV2", "Identity"):
        for chains in (1, 64):
            yield value_case(op, nodes, chains)
    for chains in (1, 64):
        yield no_op_case(nodes, chains)
    yield fan_case(nodes)
    yield loop_case(nodes, functional=False)
    yield loop_case(nodes, functional=True)


def tensorflow_call(case, executor):
    """A prepared call that runs every node of the graph."""
    config = session_config(executor)
    config.graph_options.optimizer_options.opt_level = tf1.OptimizerOptions.L0
    rewrite = config.graph_options.rewrite_options
    rewrite.disable_meta_optimizer = True
    rewrite.constant_folding = 2  # OFF
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(case.graph_def, name="")
    feeds = {name: np.float32(FEEDS[name]) for name in case.feeds}
    return PreparedCall(tf1.Session(graph=graph, config=config), feeds, case.fetches, case.targets)


def runner_command(runner, case, directory, flags=()):
    """How executor_runner is called for a case, whose graph it puts into `directory`."""
    path = os.path.join(directory, case.name.replace(",", "").replace(" ", "_") + ".pb")
    with open(path, "wb") as file:
        file.write(case.graph_def.SerializeToString())
    return [str(runner), f"--graph={path}", *flags,
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

    def results(self):
        self.run(1)
        answer = self._ask("result")
        return [] if answer == "none" else [float(answer.split()[-1])]

    def nodes_that_run(self):
        return int(self._ask("nodes"))

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
    return os.environ.get("TESSERA_EXECUTOR_RUNNER") or programs.build(RUNNER) / RUNNER


def rate(nodes, seconds):
    """'best (median)', millions a second."""
    return f"{nodes / seconds[0] / 1e6:.1f} ({nodes / seconds[1] / 1e6:.1f})"


def summary(seconds):
    return min(seconds), statistics.median(seconds)


def our_cell(nodes_that_run, nodes, seconds):
    """The rate of nodes; of a graph that lost most of its nodes, what is left of it."""
    if is_compiled_away(nodes_that_run, nodes):
        return f"{nodes_that_run} of {nodes} nodes run, {seconds[0] * 1e6:.1f} us"
    return rate(nodes, seconds)


def is_compiled_away(nodes_that_run, nodes):
    return nodes_that_run < nodes / 2


def print_case(case, nodes, ours, times):
    step = fastest(times)
    plain = summary(times["ours"])
    left = {name: nodes if case.is_loop else side.nodes_that_run() for name, side in ours.items()}
    ratio = f"{step.best / plain[0]:.2f} ({step.median / plain[1]:.2f})"
    programs.print_row(
        case.name, step.executor, f"{step.call * 1e6:.1f} + {step.best * 1e6:.1f}",
        rate(nodes, (step.best, step.median)), our_cell(left["ours"], nodes, plain),
        "" if is_compiled_away(left["ours"], nodes) else ratio,
        our_cell(left["ours, optimised"], nodes, summary(times["ours, optimised"])))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--runs", type=int, default=10, help="runs of each side a round")
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    args = parser.parse_args()
    runner = find_runner()

    print(f"TensorFlow {tf.__version__}, {platform.processor() or platform.machine()}, "
          f"{args.nodes} nodes or iterations, one thread. Millions of them a second: best run "
          "(median run).\n")
    programs.print_head("graph", "TensorFlow's faster executor", "its empty call + step, us",
                        "TensorFlow", "ours", "ours to TensorFlow", "ours, optimised")
    with tempfile.TemporaryDirectory() as directory:
        for case in cases(args.nodes):
            if args.only not in case.name:
                continue
            peer = TensorFlowPeer(functools.partial(tensorflow_call, case))
            ours = {"ours": Ours(runner, case, directory),
                    "ours, optimised": Ours(runner, case, directory, ["--optimize"])}
            sides = {**peer.calls, **ours}
            results = {name: [float(result) for result in side.results()]
                       for name, side in sides.items() if not name.startswith("empty call")}
            if len(set(map(str, results.values()))) != 1:
                raise SystemExit(f"{case.name}: the sides do not agree: {results}")
            print_case(case, args.nodes, ours, measure(sides, args.rounds, args.runs))
            for side in ours.values():
                side.close()


if __name__ == "__main__":
    main()
