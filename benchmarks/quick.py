#!/usr/bin/env python3
"""In a few minutes, what a change did to speed: small models, and instructions of the hot paths.

    scripts/bench quick [--only=models|instructions]

Builds its runners first. Models run in process, one thread each, in turn with TensorFlow's Session
on the same SavedModel. Instructions are counted by callgrind (Debian's valgrind, installed if it is
absent): what a further run, or a further request, adds. They do not depend on what else the machine
does, so a difference of a few percent is real; compare them with the table in docs/benchmarks.md.
"""
import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import executor
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow_serving.apis import predict_pb2

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "tests/data/models"
RUNNERS = ("model_runner", "executor_runner", "decode_runner")
# Small ones of different kinds, from the recorded models.
NAMES = ("digits_cnn", "mobilenet_v2_narrow", "resnet50_narrow", "bert_tiny", "keras_multi_io",
         "timeseries_lstm_forecast", "tf1_lstm_while_loop", "vgg_narrow")
TURNS = 6
SECONDS_A_TURN = 0.25


def inputs_of(directory):
    """The first recorded Predict request's tensors, by alias."""
    manifest = json.loads((directory / "golden/manifest.json").read_text())
    for case in manifest["cases"]:
        if case["kind"] != "predict":
            continue
        request = predict_pb2.PredictRequest()
        request.ParseFromString((directory / "golden" / f"{case['file']}.request.pb").read_bytes())
        if request.model_spec.signature_name in ("", "serving_default"):
            return {alias: tf.make_ndarray(proto) for alias, proto in request.inputs.items()}
    return None


class TensorFlow:
    """The signature as a prepared call of a Session, as a server runs it."""

    def __init__(self, directory, inputs):
        tf1 = tf.compat.v1
        config = tf1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
        self._session = tf1.Session(graph=tf.Graph(), config=config)
        meta = tf1.saved_model.load(self._session, ["serve"], str(directory / "1"))
        signature = meta.signature_def["serving_default"]
        options = config_pb2.CallableOptions()
        options.run_options.inter_op_thread_pool = -1
        for alias in inputs:
            options.feed.append(signature.inputs[alias].name)
        for output in signature.outputs.values():
            options.fetch.append(output.name)
        self._call = self._session._make_callable_from_options(options)
        self._feeds = list(inputs.values())

    def run(self, steps):
        times = []
        for _ in range(steps):
            start = time.perf_counter()
            self._call(*self._feeds)
            times.append(time.perf_counter() - start)
        return times


class Ours:
    def __init__(self, runner, directory, inputs, scratch):
        self._process = subprocess.Popen([runner, str(directory / "1"), "--threads=1"],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self._process.stdout.readline() != "ready\n":
            raise SystemExit(f"model_runner does not load {directory}")
        for i, (alias, value) in enumerate(inputs.items()):
            file = pathlib.Path(scratch) / f"{directory.name}_{i}"
            file.write_bytes(value.tobytes())
            dims = ",".join(map(str, value.shape))
            self._ask(f"input {alias} {value.dtype} {dims} {file}")

    def _ask(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        if not answer or answer.startswith("error"):
            raise SystemExit(f"model_runner: {line}: {answer or 'ended'}")
        return answer

    def run(self, steps):
        return [int(ns) * 1e-9 for ns in self._ask(f"step {steps}").split()]

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def models(runner):
    print("| model | Tessera, us | TensorFlow, us | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        for name in NAMES:
            directory = MODELS / name
            inputs = inputs_of(directory)
            sides = [Ours(runner, directory, inputs, scratch), TensorFlow(directory, inputs)]
            times = [[], []]
            for side in sides:
                side.run(2)
            for _ in range(TURNS):
                for side, collected in zip(sides, times):
                    once = side.run(1)[0]
                    collected += side.run(max(1, min(2000, int(SECONDS_A_TURN / once))))
            sides[0].close()
            best = [min(t) * 1e6 for t in times]
            middle = [statistics.median(t) * 1e6 for t in times]
            print(f"| {name} | {best[0]:.1f} ({middle[0]:.1f}) | {best[1]:.1f} ({middle[1]:.1f}) | "
                  f"{best[0] / best[1]:.2f} ({middle[0] / middle[1]:.2f}) |", flush=True)


def instructions(command, stdin=""):
    """All that a process executes."""
    result = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command],
        input=stdin, capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", result.stderr).group(1))


def slope(few, many, count):
    """Instructions of each of what `count(many)` does more than `count(few)`."""
    return (count(many) - count(few)) / (many - few)


def executor_cases(nodes):
    """Graphs, with what is counted."""
    yield executor.value_case("AddV2", nodes, 1), "AddV2, one chain, a node"
    yield executor.value_case("Identity", nodes, 1), "Identity, one chain, a node"
    yield executor.fan_case(nodes), "AddV2, fan, a node"
    yield executor.loop_case(nodes, functional=False), "v1 loop, an iteration"
    yield executor.loop_case(nodes, functional=True), "While op, an iteration"


def count_instructions(runners):
    print("| path | instructions |\n|---|---|")
    nodes = 1000
    with tempfile.TemporaryDirectory() as scratch:
        for case, counted in executor_cases(nodes):
            command = executor.runner_command(runners["executor_runner"], case, scratch)
            # Starts differ by 200,000 instructions: hash tables depend on where they lie.
            each = slope(2, 102, lambda runs: instructions(command, f"{runs}\n")) / nodes
            print(f"| executor: {counted} | {each:.0f} |", flush=True)
    for form, few, many in (("grpc_small", 100, 600), ("grpc_floats", 1, 4),
                            ("grpc_content", 1, 4), ("rest_small", 100, 600),
                            ("rest_floats", 1, 4)):
        each = slope(few, many,
                     lambda times: instructions([runners["decode_runner"], form, str(times)]))
        print(f"| decode: {form}, a request | {each:.0f} |", flush=True)


def main():
    tf.get_logger().setLevel("ERROR")
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("models", "instructions"))
    args = parser.parse_args()
    subprocess.run(["bazel", "build", *(f"//benchmarks:{name}" for name in RUNNERS)], cwd=ROOT,
                   check=True, stdout=sys.stderr)
    runners = {name: str(ROOT / "bazel-bin/benchmarks" / name) for name in RUNNERS}
    if args.only != "instructions":
        models(runners["model_runner"])
        print()
    if args.only != "models":
        if shutil.which("valgrind") is None:
            subprocess.run(["apt-get", "install", "-y", "-qq", "valgrind"], check=True,
                           stdout=sys.stderr)
        count_instructions(runners)


if __name__ == "__main__":
    main()
