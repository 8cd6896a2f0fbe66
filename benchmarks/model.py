#!/usr/bin/env python3
"""Steps of whole models, from vision to recommendation, next to TensorFlow and its peers.

    scripts/bench model [--quick] [--models NAME,...] [--batches 1,8,32] [--threads 1,2]
                        [--seconds S] [--profile] [--runner FILE] [--baseline BAZEL_BIN]

Peers: TensorFlow 2.21, ONNX Runtime, OpenVINO, each with the same weights, the same input and the
same number of threads; TensorFlow runs the signature as it is loaded or with its variables as
constants, whichever is faster. They take turns, a few steps each, so that what else the machine
does meets all alike; the first step of a turn is not counted. Outputs must agree with TensorFlow's
within 1e-4 of the largest value. `ratio` is Tessera's time over that of the fastest peer, which is
named: of the minimum, and in parentheses of the median. With --baseline, the model_runner of
another checkout is one more contestant, but no peer.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import programs
from model_process import ModelProcess

sys.path.insert(0, str(programs.ROOT / "benchmarks" / "models"))
import make_models  # noqa: E402

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

STEPS_A_TURN = 3
TOLERANCE = 1e-4
PEERS = ("TensorFlow", "ONNX Runtime", "OpenVINO")
RUNNER = "benchmarks/model_runner"


def inputs_of(name, batch):
    import numpy as np

    rng = np.random.default_rng(batch)
    if name in make_models.IMAGE_NAMES:
        return {"image": rng.standard_normal((batch, 224, 224, 3), dtype=np.float32)}
    if name in make_models.OTHER_NAMES:
        import architectures

        return architectures.inputs(name, batch, rng)
    shape = (batch, make_models.BERT_TOKENS)
    mask = np.ones(shape, np.int32)
    mask[:, 100:] = 0
    return {"ids": rng.integers(0, 30522, shape, dtype=np.int32), "mask": mask,
            "types": np.zeros(shape, np.int32)}


def fastest_call(calls, steps=5, clock=time.perf_counter):
    """The call whose best of `steps` runs is the shortest, after one run that is not counted."""
    best = []
    for call in calls:
        call()
        times = []
        for _ in range(steps):
            start = clock()
            call()
            times.append(clock() - start)
        best.append(min(times))
    return calls[best.index(min(best))]


class TensorFlow:
    """A signature as it is loaded, or with its variables as constants, which lets TensorFlow fuse
    what works on weights: the faster one for the inputs at hand.
    """

    def __init__(self, directory, name, threads):
        import tensorflow as tf
        from tensorflow.python.framework import convert_to_constants

        self.tf = tf
        self.model = tf.saved_model.load(str(directory / name / "1"))
        self.loaded = self.model.signatures["serving_default"]
        try:
            self.frozen = convert_to_constants.convert_variables_to_constants_v2(self.loaded)
        except ValueError:  # The signature writes a variable.
            self.frozen = None

    def calls(self, inputs):
        values = {key: self.tf.constant(value) for key, value in inputs.items()}
        calls = [lambda: self.loaded(**values)["output"].numpy()]
        if self.frozen is not None:
            in_order = [values[tensor.name.split(":")[0]] for tensor in self.frozen.inputs]
            calls.append(lambda: self.frozen(*in_order)[0].numpy())
        return calls

    def feed(self, inputs):
        self.run = fastest_call(self.calls(inputs))


class OnnxRuntime:
    def __init__(self, directory, name, threads):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Threads that wait for the next step must not take the core from the others' turn.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        self.session = onnxruntime.InferenceSession(
            str(directory / f"{name}.onnx"), options, providers=["CPUExecutionProvider"])
        self.names = {x.name.split(":")[0]: x.name for x in self.session.get_inputs()}

    def feed(self, inputs):
        self.inputs = {self.names[key]: value for key, value in inputs.items()}

    def run(self):
        return self.session.run(["output"], self.inputs)[0]


class OpenVino:
    def __init__(self, directory, name, threads):
        import openvino

        self.core = openvino.Core()
        self.model = self.core.read_model(str(directory / f"{name}.onnx"))
        self.threads = threads

    def feed(self, inputs):
        # Compiled for the shape at hand, which is how it is fastest.
        by_name = {x.get_any_name().split(":")[0]: x.get_any_name() for x in self.model.inputs}
        self.model.reshape({by_name[key]: list(value.shape) for key, value in inputs.items()})
        compiled = self.core.compile_model(self.model, "CPU", {
            "INFERENCE_NUM_THREADS": self.threads, "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"})
        self.request = compiled.create_infer_request()
        self.output = compiled.output("output")
        self.inputs = {by_name[key]: value for key, value in inputs.items()}

    def run(self):
        return self.request.infer(self.inputs, share_inputs=True)[self.output]


class Timed:
    """A peer in this process, with the runner's way of taking turns."""

    def __init__(self, peer):
        self.peer = peer

    def feed(self, inputs):
        self.peer.feed(inputs)
        self.output()

    def output(self):
        return self.peer.run()

    def run(self, steps):
        times = []
        for _ in range(steps):
            start = time.perf_counter()
            self.peer.run()
            times.append(time.perf_counter() - start)
        return times


def error_of(mine, theirs):
    import numpy as np

    return float(np.abs(mine - theirs).max() / np.abs(theirs).max())


def compare(contestants, inputs, seconds):
    """name -> (min, median, error against TensorFlow's output), in seconds."""
    outputs = {}
    for name, contestant in contestants.items():
        contestant.feed(inputs)
        outputs[name] = contestant.output()
    times = {name: [] for name in contestants}
    end = time.monotonic() + seconds * len(contestants)
    while time.monotonic() < end or len(times["Tessera"]) < 2 * STEPS_A_TURN:
        for name, contestant in contestants.items():
            times[name] += contestant.run(1 + STEPS_A_TURN)[1:]
    return {name: (min(t), sorted(t)[len(t) // 2], error_of(outputs[name], outputs["TensorFlow"]))
            for name, t in times.items()}


def measure(args, threads):
    """All models at this number of threads, which TensorFlow takes once a process."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    runners = {"Tessera": args.runner}
    if args.baseline:
        runners["baseline"] = args.baseline / RUNNER
    for name in args.models:
        processes = {side: ModelProcess(runner, args.directory / name / "1", threads,
                                        args.runner_flag) for side, runner in runners.items()}
        processes["strict"] = ModelProcess(args.runner, args.directory / name / "1", threads,
                                           [*args.runner_flag, "--numerics=strict"])
        contestants = dict(processes)
        for label, make in zip(PEERS, (TensorFlow, OnnxRuntime, OpenVino)):
            contestants[label] = Timed(make(args.directory, name, threads))
        for batch in args.batches:
            result = compare(contestants, inputs_of(name, batch), args.seconds)
            profile = processes["Tessera"].ask("profile", 5) if args.profile else ""
            print(json.dumps({"model": name, "batch": batch, "threads": threads, "result": result,
                              "profile": profile}), flush=True)
        for process in processes.values():
            process.close()


def milliseconds(pair):
    return f"{pair[0] * 1e3:.2f} / {pair[1] * 1e3:.2f}"


def columns(has_baseline):
    return ["model", "batch", "threads", "Tessera", *["baseline", "ratio to it"] * has_baseline,
            *PEERS, "fastest peer", "ratio to it", "error"]


def ratio(mine, other):
    return f"{mine[0] / other[0]:.2f} ({mine[1] / other[1]:.2f})"


def print_result(row):
    """Prints a line for each numerics mode. False if one differs too much from TensorFlow."""
    result = row["result"]
    fastest = min(PEERS, key=lambda peer: result[peer][0])
    best = (result[fastest][0], min(result[peer][1] for peer in PEERS))
    for label, mine in (("", result["Tessera"]), (" strict", result["strict"])):
        cells = [row["model"] + label, row["batch"], row["threads"], milliseconds(mine)]
        if "baseline" in result:
            cells += [milliseconds(result["baseline"]), ratio(mine, result["baseline"])]
        cells += [milliseconds(result[peer]) for peer in PEERS]
        programs.print_row(*cells, fastest, ratio(mine, best), f"{mine[2]:.0e}")
    if row["profile"]:
        print("  " + row["profile"], flush=True)
    return max(result["Tessera"][2], result["strict"][2]) <= TOLERANCE


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = lambda text: [int(x) for x in text.split(",")]  # noqa: E731
    parser.add_argument("--quick", action="store_true", help="batch 1 only")
    parser.add_argument("--models", type=lambda text: text.split(","),
                        default=list(make_models.NAMES))
    parser.add_argument("--batches", type=numbers, default=[1, 8, 32])
    parser.add_argument("--threads", type=numbers, default=[1, 2])
    parser.add_argument("--seconds", type=float, default=4.0, help="of measuring, a contestant")
    parser.add_argument("--profile", action="store_true", help="where Tessera's time goes")
    parser.add_argument("--runner", help="a model_runner that is built already")
    programs.add_baseline_argument(parser)
    parser.add_argument("--runner_flag", action="append", default=[], help="passed on to it")
    parser.add_argument("--directory", type=pathlib.Path, default=make_models.default_directory())
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    unknown = set(args.models) - set(make_models.NAMES)
    if unknown:
        parser.error(f"no model {', '.join(sorted(unknown))}; there are {', '.join(make_models.NAMES)}")
    if args.quick:
        args.batches = [1]
    if args.worker:
        measure(args, args.threads[0])
        return
    args.directory.mkdir(parents=True, exist_ok=True)
    for name in args.models:
        make_models.make(name, args.directory)
    if args.runner is None:
        args.runner = str(programs.build(RUNNER) / RUNNER)
    if args.baseline:
        programs.of_baseline(args.baseline, RUNNER)
    programs.print_head(*columns(bool(args.baseline)))
    agree = True
    for threads in args.threads:
        command = [sys.executable, __file__, "--worker", "--threads", str(threads), "--models",
                   ",".join(args.models), "--batches", ",".join(map(str, args.batches)),
                   "--seconds", str(args.seconds), "--runner", args.runner, "--directory",
                   str(args.directory), *(["--profile"] if args.profile else []),
                   *([f"--baseline={args.baseline}"] if args.baseline else []),
                   *(f"--runner_flag={flag}" for flag in args.runner_flag)]
        # TensorFlow takes as many threads as there are cores wherever it is not told otherwise.
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment,
                              stderr=subprocess.DEVNULL) as worker:
            for line in worker.stdout:
                agree &= print_result(json.loads(line))
        if worker.returncode:
            sys.exit(f"model: the measurement with {threads} threads failed")
    if not agree:
        sys.exit(f"model: an output is off by more than {TOLERANCE} of TensorFlow's largest value")


if __name__ == "__main__":
    main()
