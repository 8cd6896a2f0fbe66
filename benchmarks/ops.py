#!/usr/bin/env python3
"""Kernels at the sizes of real models, ours and TensorFlow's interleaved: a ratio for each.

    scripts/bench ops [NAME...] [--threads=1,2] [--seconds=S] [--rounds=N] [--runner=FILE]

A NAME selects the kernels whose name contains it. Builds //benchmarks:op_runner first; --runner names
one that is built already. Both sides run the same graph as a prepared callable over the same feeds, in
turns; strings lie in variables, because feeding them from Python takes longer than most kernels that
read them. TensorFlow's Session runs in the faster one of its executors on the calling thread, with
oneDNN on, and the time of an empty call with as many feeds and fetches is subtracted; from ours
nothing is. A kernel that takes TensorFlow less than 200 us stands in the graph up to 64 times, each
with inputs of its own and after the one before it, so that the call does not dominate; times are of
one. Answers are compared. Ends with the geometric mean and the worst ten of each number of threads.
"""
import argparse
import functools
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np  # noqa: E402
import programs  # noqa: E402
from tensorflow.core.framework import tensor_pb2  # noqa: E402
from tensorflow_calls import (  # noqa: E402
    PreparedCall, TensorFlowPeer, fastest, session_config, tf, tf1)

RUNNER = "benchmarks/op_runner"
STEP_SECONDS = 200e-6
MAX_COPIES = 64
LIMIT, GOAL = 1.1, 0.6


def all_cases():
    from kernels import array, math, nn, recommendation, signals

    return [case for family in (array, math, nn, recommendation, signals) for case in family.CASES]


def aligned(value):
    """A copy that TensorFlow takes without copying it again; strings as they are."""
    if value.dtype == object:
        return value
    buffer = np.empty(value.nbytes + 64, np.uint8)
    start = -buffer.ctypes.data % 64
    copy = buffer[start:start + value.nbytes].view(value.dtype).reshape(value.shape)
    copy[...] = value
    return copy


class KernelGraph:
    """A graph with `copies` of a case. Names of nodes are those that op_runner expects."""

    def __init__(self, case, copies):
        rng = np.random.default_rng(11)
        values = [aligned(np.asarray(make(rng))) for make in case.inputs]
        self.feeds, self.initial, self.num_timed = {}, {}, 0
        self.graph = tf.Graph()
        with self.graph.as_default():
            self._assign = []
            before = []
            for copy in range(copies):
                with tf.control_dependencies(before):
                    outputs = self._outputs(case.make(*[self._input(value) for value in values]))
                before = [output.op for output in outputs]
                if copy == 0:
                    for i, output in enumerate(outputs):
                        tf.identity(output, name=f"output_{i}")
                    self.num_outputs = len(outputs)
                for output in outputs:
                    self._time(output)
            if self._assign or tf1.get_collection(tf1.GraphKeys.TABLE_INITIALIZERS):
                with tf.control_dependencies([*self._assign, tf1.tables_initializer()]):
                    tf.raw_ops.NoOp(name="init")

    @staticmethod
    def _outputs(made):
        flat = tf.nest.flatten(list(made) if isinstance(made, tuple) else made,
                               expand_composites=True)
        return [tf.convert_to_tensor(output) for output in flat]

    def _input(self, value):
        if value.dtype != object:
            name = f"feed_{len(self.feeds)}"
            with tf.control_dependencies(None):
                placeholder = tf1.placeholder(value.dtype, value.shape, name=name)
            self.feeds[placeholder.name] = value
            return tf.identity(placeholder)  # after the copy before this one
        name = f"initial_{len(self.initial)}"
        with tf.control_dependencies(None):
            placeholder = tf1.placeholder(tf.string, value.shape, name=name)
            handle = tf.raw_ops.VarHandleOp(dtype=tf.string, shape=value.shape, shared_name=name)
            self._assign.append(tf.raw_ops.AssignVariableOp(resource=handle, value=placeholder))
        self.initial[placeholder.name] = value
        return tf.ensure_shape(tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.string),
                               value.shape)

    def _time(self, output):
        """Fetching strings converts them: of those, one element is fetched."""
        if output.dtype == tf.string:
            output = tf.strings.length(tf.reshape(output, [-1])[:1])
        tf.identity(output, name=f"timed_{self.num_timed}")
        self.num_timed += 1

    def write(self, folder):
        (folder / "graph.pb").write_bytes(self.graph.as_graph_def().SerializeToString())
        for name, value in {**self.feeds, **self.initial}.items():
            proto = tf.make_tensor_proto(value)
            (folder / f"{name.removesuffix(':0')}.pb").write_bytes(proto.SerializeToString())

    def call(self, threads, executor, fetches=None):
        """TensorFlow's prepared call, of the timed nodes unless others are named."""
        config = session_config(executor)
        config.intra_op_parallelism_threads = threads
        session = tf1.Session(graph=self.graph, config=config)
        if self._has_init():
            session.run("init", self.initial)
        return PreparedCall(session, self.feeds,
                            fetches or [f"timed_{i}:0" for i in range(self.num_timed)])

    def _has_init(self):
        return any(op.name == "init" for op in self.graph.get_operations())

    def results(self):
        names = [f"output_{i}:0" for i in range(self.num_outputs)]
        return self.call(1, "", names).results()


class Ours:
    """op_runner as a child that waits for orders."""

    def __init__(self, runner, folder, threads):
        self._folder = folder
        self._process = subprocess.Popen(
            [runner, folder, f"--threads={threads}"], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def _ask(self, line):
        try:
            print(line, file=self._process.stdin, flush=True)
        except BrokenPipeError:
            pass
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(self._process.stderr.read().strip() or "op_runner ended")
        return answer.strip()

    def run(self, runs):
        return [int(nanoseconds) * 1e-9 for nanoseconds in self._ask(runs).split()]

    def nodes(self):
        return int(self._ask("nodes"))

    def results(self, count):
        self._ask("outputs")
        values = []
        for i in range(count):
            written = (self._folder / f"ours_{i}.pb").read_bytes()
            values.append(tf.make_ndarray(tensor_pb2.TensorProto.FromString(written)))
        return values

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def plain_integers(value):
    """The numbers of a quantised tensor, which TensorFlow gives as structures of one field."""
    return value.view(value.dtype[0]) if value.dtype.names else value


def difference(ours, theirs, tolerance):
    """What is wrong with our answers; empty if nothing is."""
    for mine, other in zip(ours, theirs, strict=True):
        mine, other = (plain_integers(np.asarray(value)) for value in (mine, other))
        if mine.dtype != other.dtype:
            return f"dtype {mine.dtype}, not {other.dtype}"
        if math.isinf(tolerance):
            continue
        if mine.shape != other.shape:
            return f"shape {mine.shape}, not {other.shape}"
        if mine.dtype == object or mine.dtype.kind in "iub" or not mine.size:
            if not np.array_equal(mine, other):
                return "other values"
            continue
        wide = np.complex128 if mine.dtype.kind == "c" else np.float64
        mine, other = mine.astype(wide), other.astype(wide)
        same = (mine == other) | (np.isnan(mine) & np.isnan(other))
        error = np.where(same, 0, np.abs(mine - other)).max()
        largest = np.abs(other[np.isfinite(other)]).max(initial=0)
        if not error <= tolerance * largest:
            return f"off by {error / max(largest, 1e-30):.1e}"
    return ""


def copies_for(case, threads):
    """How many copies of a case take TensorFlow long enough for the call not to dominate."""
    graph = KernelGraph(case, 1)
    peer = TensorFlowPeer(lambda executor: graph.call(threads, executor))
    step = fastest({name: call.run(10) for name, call in peer.calls.items()})
    return max(1, min(MAX_COPIES, math.ceil(STEP_SECONDS / step.best)))


def take_turns(sides, rounds, seconds):
    """Seconds of each run of each side."""
    times = {name: [] for name in sides}
    runs = {name: max(1, min(200, int(seconds / rounds / min(side.run(3)))))
            for name, side in sides.items()}
    for _ in range(rounds):
        for name, side in sides.items():
            times[name] += side.run(1 + runs[name])[1:]
    return times


def measure(case, args, threads):
    """The result of a case as a dict for JSON."""
    result = {"name": case.name, "threads": threads}
    try:
        copies = copies_for(case, threads)
    except tf.errors.OpError as error:
        return {**result, "error": f"TensorFlow: {error.message.splitlines()[0]}"}
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        graph = KernelGraph(case, copies)
        graph.write(folder)
        ours = Ours(args.runner, folder, threads)
        try:
            result["wrong"] = difference(ours.results(graph.num_outputs), graph.results(),
                                         case.tolerance)
            peer = TensorFlowPeer(functools.partial(graph.call, threads))
            times = take_turns({"ours": ours, **peer.calls}, args.rounds, args.seconds)
            if ours.nodes() < copies:
                result["wrong"] += f" {ours.nodes()} kernels for {copies} copies"
        except (RuntimeError, tf.errors.OpError) as error:
            return {**result, "error": str(error).splitlines()[-1]}
        finally:
            ours.close()
    step = fastest(times)
    mine = times["ours"]
    return {**result, "copies": copies,
            "ours": [min(mine) / copies, statistics.median(mine) / copies],
            "theirs": [step.best / copies, step.median / copies]}


def selected(names):
    return [case for case in all_cases() if not names or any(name in case.name for name in names)]


def work(args):
    """Measures at one number of threads, which TensorFlow takes once a process."""
    for case in selected(args.names):
        print(json.dumps(measure(case, args, args.threads[0])), flush=True)


def print_result(result):
    if "error" in result:
        programs.print_row(result["name"], result["threads"], "", result["error"], "", "", "")
        return
    ours, theirs = result["ours"], result["theirs"]
    programs.print_row(
        result["name"], result["threads"], result["copies"],
        f"{ours[0] * 1e6:.1f} / {ours[1] * 1e6:.1f}",
        f"{theirs[0] * 1e6:.1f} / {theirs[1] * 1e6:.1f}",
        f"{ours[0] / theirs[0]:.2f} ({ours[1] / theirs[1]:.2f})", result["wrong"])


def summarise(results, threads):
    """Prints what the kernels have in common. False if one is wrong or has failed."""
    measured = [r for r in results if "error" not in r]
    if measured:
        best = {r["name"]: r["ours"][0] / r["theirs"][0] for r in measured}
        medians = [r["ours"][1] / r["theirs"][1] for r in measured]
        worst = sorted(best.items(), key=lambda pair: -pair[1])
        print(f"\n{len(best)} kernels, {threads} threads: geometric mean "
              f"{statistics.geometric_mean(best.values()):.3f} "
              f"({statistics.geometric_mean(medians):.3f}), goal {GOAL}; "
              f"{sum(ratio > LIMIT for ratio in best.values())} above {LIMIT}. The worst ten: "
              + ", ".join(f"{name} {ratio:.2f}" for name, ratio in worst[:10]) + "\n", flush=True)
    return all("error" not in r and not r["wrong"] for r in results)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--threads", type=lambda text: [int(x) for x in text.split(",")],
                        default=[1, 2])
    parser.add_argument("--seconds", type=float, default=0.1, help="of measuring, a side")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runner", help="an op_runner that is built already")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        tf.get_logger().setLevel("ERROR")
        work(args)
        return
    if args.runner is None:
        args.runner = str(programs.build(RUNNER) / RUNNER)
    started = time.monotonic()
    good = True
    programs.print_head("kernel", "threads", "copies", "ours, us", "TensorFlow, us", "ratio",
                        "wrong")
    for threads in args.threads:
        command = [sys.executable, __file__, *args.names, "--worker", f"--threads={threads}",
                   f"--seconds={args.seconds}", f"--rounds={args.rounds}",
                   f"--runner={args.runner}"]
        results = []
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            for line in worker.stdout:
                results.append(json.loads(line))
                print_result(results[-1])
        if worker.returncode:
            sys.exit(f"ops: the measurement with {threads} threads failed")
        good &= summarise(results, threads)
    print(f"{time.monotonic() - started:.0f} s")
    if not good:
        sys.exit("ops: a kernel failed, or its answer is not TensorFlow's")


if __name__ == "__main__":
    main()
