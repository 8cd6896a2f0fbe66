#!/usr/bin/env python3
"""In a few minutes, what a change did to speed: small models, and instructions of the hot paths.

    scripts/bench quick [--only=models|instructions] [--baseline=BAZEL_BIN]

Builds its runners first. Models run in process, one thread each, in turn with TensorFlow's Session
on the same SavedModel, in whichever of its executors is the faster one. TensorFlow is timed through
Python: the time of an empty call with as many feeds and fetches is subtracted; from ours nothing is.
Instructions are counted by callgrind (Debian's valgrind, installed if it is absent): what a process
that ends at once executes, and what a further run, or a further request, adds. They do not depend on
what else the machine does, so a difference of a few percent is real; callgrind knows no AVX-512, so
that kernels take their AVX2 loops there.
"""
import argparse
import functools
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import executor
import programs
from model_process import ModelProcess, feed_lines
from tensorflow_calls import PreparedCall, TensorFlowPeer, fastest, session_config, tf, tf1
from tensorflow_serving.apis import predict_pb2

MODELS = programs.ROOT / "tests/data/models"
MODEL_RUNNER, EXECUTOR_RUNNER, DECODE_RUNNER = (
    f"benchmarks/{name}" for name in ("model_runner", "executor_runner", "decode_runner"))
SERVER = "tessera"
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


def tensorflow_call(directory, inputs, executor_type):
    """The signature as a prepared call of a Session, as a server runs it."""
    session = tf1.Session(graph=tf.Graph(), config=session_config(executor_type))
    meta = tf1.saved_model.load(session, ["serve"], str(directory / "1"))
    signature = meta.signature_def["serving_default"]
    feeds = {signature.inputs[alias].name: value for alias, value in inputs.items()}
    return PreparedCall(session, feeds, [output.name for output in signature.outputs.values()])


def measure(sides):
    """Seconds of the steps of each side, the sides taking turns."""
    times = {name: [] for name in sides}
    for side in sides.values():
        side.run(2)
    for _ in range(TURNS):
        for name, side in sides.items():
            once = side.run(1)[0]
            times[name] += side.run(max(1, min(2000, int(SECONDS_A_TURN / once))))
    return times


def models(checkouts):
    """`checkouts` maps "Tessera", and "baseline" if there is one, to their bazel-bin."""
    has_baseline = "baseline" in checkouts
    programs.print_head("model", "Tessera, us", *["baseline, us", "ours to it"] * has_baseline,
                        "TensorFlow, us", "its executor", "its call, us, subtracted",
                        "ours to TensorFlow")
    for name in NAMES:
        directory = MODELS / name
        inputs = inputs_of(directory)
        peer = TensorFlowPeer(functools.partial(tensorflow_call, directory, inputs))
        ours = {side: ModelProcess(folder / MODEL_RUNNER, directory / "1", threads=1)
                for side, folder in checkouts.items()}
        for process in ours.values():
            process.feed(inputs)
        times = measure({**ours, **peer.calls})
        for process in ours.values():
            process.close()
        step = fastest(times)
        theirs = [step.best, step.median]
        compared = [programs.best_and_median(times["baseline"], 1e-6),
                    programs.ratio(times["Tessera"], times["baseline"])] if has_baseline else []
        best, median = min(times["Tessera"]), statistics.median(times["Tessera"])
        programs.print_row(
            name, programs.best_and_median(times["Tessera"], 1e-6), *compared,
            f"{theirs[0] * 1e6:.1f} ({theirs[1] * 1e6:.1f})", step.executor,
            f"{step.call * 1e6:.1f}", f"{best / theirs[0]:.2f} ({median / theirs[1]:.2f})")


def instructions(command, stdin=""):
    """All that a process executes."""
    result = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *map(str, command)],
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


def paths(scratch):
    """(what is counted, function of a bazel-bin that counts it)."""
    yield "start: tessera --version", lambda folder: instructions([folder / SERVER, "--version"])
    nodes = 1000
    for case, counted in executor_cases(nodes):
        def of_graph(folder, case=case):
            command = executor.runner_command(folder / EXECUTOR_RUNNER, case, scratch)
            # Starts differ by 200,000 instructions: hash tables depend on where they lie.
            return slope(2, 102, lambda runs: instructions(command, f"{runs}\n")) / nodes
        yield f"executor: {counted}", of_graph
    for form, few, many in (("grpc_small", 100, 600), ("grpc_floats", 1, 11),
                            ("grpc_content", 1, 31), ("rest_small", 100, 600),
                            ("rest_floats", 1, 4)):
        def of_request(folder, form=form, few=few, many=many):
            return slope(few, many,
                         lambda times: instructions([folder / DECODE_RUNNER, form, str(times)]))
        yield f"decode: {form}, a request", of_request
    for name in NAMES:
        def of_step(folder, name=name):
            # The first steps pack weights and plan memory: both counts have them.
            return slope(4, 104, lambda steps: instructions(
                [folder / MODEL_RUNNER, MODELS / name / "1", "--threads=1"],
                "\n".join([*feed_lines(inputs_of(MODELS / name), scratch), f"step {steps}", ""])))
        yield f"model: {name}, a step", of_step


def count_instructions(checkouts):
    has_baseline = "baseline" in checkouts
    programs.print_head("path", "instructions", *["baseline", "change"] * has_baseline)
    with tempfile.TemporaryDirectory() as scratch:
        for name, count in paths(scratch):
            counts = [count(folder) for folder in checkouts.values()]
            change = [f"{(counts[0] / counts[1] - 1) * 100:+.1f} %"] if has_baseline else []
            programs.print_row(name, *(f"{number:.0f}" for number in counts), *change)


def main():
    tf.get_logger().setLevel("ERROR")
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("models", "instructions"))
    programs.add_baseline_argument(parser)
    args = parser.parse_args()
    runners = (SERVER, MODEL_RUNNER, EXECUTOR_RUNNER, DECODE_RUNNER)
    checkouts = {"Tessera": programs.build(*runners)}
    if args.baseline:
        checkouts["baseline"] = programs.of_baseline(args.baseline, *runners)
    if args.only != "instructions":
        models(checkouts)
        print()
    if args.only != "models":
        if shutil.which("valgrind") is None:
            subprocess.run(["apt-get", "install", "-y", "-qq", "valgrind"], check=True,
                           stdout=sys.stderr)
        count_instructions(checkouts)


if __name__ == "__main__":
    main()
