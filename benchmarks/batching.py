#!/usr/bin/env python3
"""What batching gains in throughput and costs in latency: off, as upstream does it, adaptive.

    scripts/bench batching [--quick] [--model=NAME ...] [--rounds=N] [--seconds=N]
                           [--in_flight N N ...]

It takes some four minutes; what it is at goes to the standard error.
Builds //:tessera and //benchmarks:load_generator first; TESSERA_BINARY and TESSERA_LOAD_GENERATOR
name ones that are built already.

Three servers of the same binary and model run beside each other and take turns: without batching;
with --enable_batching as on TensorFlow Serving (a pool of one thread a core, batches of up to 16,
a timeout of 2 ms); with --batching_mode=adaptive and the same sizes. A closed loop keeps 1, 4 and 16
requests of one row under way. The first table shows, for each mode, the most answers a second at
which the 99th percentile still met the target; the second all that was measured; the third one client
alone, whose latency batching must not touch. Models have random weights: Keras's ResNet-50, a
BERT-mini (4 layers of 256, 128 tokens), and y = x / 2 + 2, which shows what a request costs when
the model costs nothing.
"""
import argparse
import contextlib
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
MODELS = CACHE / "tessera" / "bench_models"
PARAMETERS = """
max_batch_size { value: 16 }
batch_timeout_micros { value: 2000 }
max_enqueued_batches { value: 1000 }
"""
MODES = {
    "off": [],
    "upstream": ["--enable_batching"],
    "adaptive": ["--enable_batching", "--batching_mode=adaptive"],
}


def save_resnet50(path):
    import keras

    keras.utils.set_random_seed(1)
    keras.applications.ResNet50(weights=None).export(str(path), verbose=False)
    return {"shape": (1, 224, 224, 3), "dtype": "float32"}


def save_bert_mini(path):
    import keras
    from keras import layers

    keras.utils.set_random_seed(1)
    width, heads, length = 256, 4, 128
    tokens = keras.Input((length,), dtype="int32", name="tokens")
    x = layers.Embedding(30522, width)(tokens)
    x = layers.LayerNormalization()(x)
    for _ in range(4):
        attended = layers.MultiHeadAttention(heads, width // heads)(x, x)
        x = layers.LayerNormalization()(x + attended)
        inner = layers.Dense(4 * width, activation="gelu")(x)
        x = layers.LayerNormalization()(x + layers.Dense(width)(inner))
    pooled = layers.Dense(width, activation="tanh")(x[:, 0])
    keras.Model(tokens, layers.Dense(2)(pooled)).export(str(path), verbose=False)
    return {"shape": (1, length), "dtype": "int32"}


def save_half_plus_two(path):
    import tensorflow as tf

    module = tf.Module()
    module.run = tf.function(
        lambda x: {"y": x / 2 + 2}, input_signature=[tf.TensorSpec([None], tf.float32, name="x")]
    )
    tf.saved_model.save(module, str(path), signatures={"serving_default": module.run})
    return {"shape": (1,), "dtype": "float32"}


# name -> (writes the model, the p99 that is to be met in milliseconds)
BENCHED = {
    "resnet50": (save_resnet50, 500),
    "bert_mini": (save_bert_mini, 50),
    "half_plus_two": (save_half_plus_two, 5),
}


def save_model(name):
    """The model's folder, with version 1 and a request; written once."""
    folder = MODELS / f"batching_{name}"
    if not (folder / "request.pb").is_file():
        print(f"batching: writing {folder}", file=sys.stderr)
        described = BENCHED[name][0](folder / "1")
        write_request(name, folder, **described)
    return folder


def write_request(name, folder, shape, dtype):
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2

    random = np.random.default_rng(1)
    if dtype == "int32":
        values = random.integers(0, 30000, shape).astype(dtype)
    else:
        values = random.standard_normal(shape).astype(dtype)
    loaded = tf.saved_model.load(str(folder / "1"))
    (alias,) = loaded.signatures["serving_default"].structured_input_signature[1]
    request = predict_pb2.PredictRequest()
    request.model_spec.name = name
    request.inputs[alias].CopyFrom(tf.make_tensor_proto(values))
    (folder / "request.pb").write_bytes(request.SerializeToString())


def built(variable, target, path):
    binary = os.environ.get(variable)
    if binary:
        return binary
    subprocess.run(["bazel", "build", target], cwd=ROOT, check=True, stdout=sys.stderr)
    return str(ROOT / "bazel-bin" / path)


def free_ports(count):
    """TCP ports nobody listens on, each a different one."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


class Server:
    """One `tessera serve`, ready when made."""

    def __init__(self, binary, name, folder, flags, log):
        self.port, rest_port = free_ports(2)
        self.process = subprocess.Popen(
            [
                binary,
                "serve",
                f"--port={self.port}",
                f"--rest_api_port={rest_port}",
                f"--model_name={name}",
                f"--model_base_path={folder}",
                "--grpc_max_threads=64",
                "--file_system_poll_wait_seconds=0",
                *flags,
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        give_up = time.monotonic() + 120
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{rest_port}/readyz", timeout=5).read()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > give_up:
                    self.stop()
                    raise SystemExit(f"batching: the server with {flags} did not start")
                time.sleep(0.1)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def load(generator, server, request, in_flight, seconds):
    """(answers a second, p50, p99 in milliseconds) of a closed loop."""
    warmup = min(0.5, seconds / 4)
    ended = subprocess.run(
        [
            generator,
            f"--target=grpc://127.0.0.1:{server.port}",
            f"--in_flight={in_flight}",
            f"--duration={seconds + warmup}",
            f"--warmup={warmup}",
            str(request),
        ],
        stdout=subprocess.PIPE,
        check=False,
    )
    summary = json.loads(ended.stdout)
    if ended.returncode != 0:
        raise SystemExit(f"batching: requests failed: {summary['failures']}")
    run = summary["windows"]["run"]
    return run["answers_per_second"], run["p50_us"] / 1e3, run["p99_us"] / 1e3


class Measured:
    """The rounds of one mode at one number of requests under way."""

    def __init__(self):
        self.rounds = []

    def add(self, result):
        self.rounds.append(result)

    def rate(self):
        return statistics.median(r[0] for r in self.rounds)

    def best_p50(self):
        return min(r[1] for r in self.rounds)

    def median_p50(self):
        return statistics.median(r[1] for r in self.rounds)

    def p99(self):
        return statistics.median(r[2] for r in self.rounds)


def measure(name, args, tessera, generator):
    """{(mode, in_flight): Measured}"""
    folder = save_model(name)
    results = {}
    with tempfile.TemporaryDirectory() as directory:
        parameters = pathlib.Path(directory) / "batching.config"
        parameters.write_text(PARAMETERS)
        with open(pathlib.Path(directory) / "log", "wb") as log:
            servers = {}
            try:
                for mode, flags in MODES.items():
                    if flags:
                        flags = flags + [f"--batching_parameters_file={parameters}"]
                    servers[mode] = Server(tessera, name, folder, flags, log)
                for server in servers.values():
                    load(generator, server, folder / "request.pb", 4, 1)
                for turn in range(args.rounds):
                    for in_flight in args.in_flight:
                        print(
                            f"batching: {name}, round {turn + 1} of {args.rounds}, "
                            f"{in_flight} under way",
                            file=sys.stderr,
                        )
                        # Whoever goes first finds the caches as the last one left them.
                        modes = list(servers) if turn % 2 == 0 else list(servers)[::-1]
                        for mode in modes:
                            result = load(
                                generator,
                                servers[mode],
                                folder / "request.pb",
                                in_flight,
                                args.seconds,
                            )
                            results.setdefault((mode, in_flight), Measured()).add(result)
            finally:
                for server in servers.values():
                    server.stop()
    return results


def best_within(results, mode, target_ms):
    """The in_flight with the most answers a second of those that meet the target."""
    met = [(m.rate(), n) for (its, n), m in results.items() if its == mode and m.p99() <= target_ms]
    return max(met)[1] if met else None


def print_throughput(all_results, targets):
    print("| model, p99 target | mode | answers/s | under way | p50 ms | p99 ms | to off |")
    print("|---|---|---|---|---|---|---|")
    for name, results in all_results.items():
        off = best_within(results, "off", targets[name])
        for mode in MODES:
            n = best_within(results, mode, targets[name])
            if n is None:
                print(f"| {name}, {targets[name]} ms | {mode} | target not met | | | | |")
                continue
            measured = results[mode, n]
            ratio = "" if off is None else f"{measured.rate() / results['off', off].rate():.2f}"
            print(
                f"| {name}, {targets[name]} ms | {mode} | {measured.rate():.1f} | {n} | "
                f"{measured.median_p50():.2f} | {measured.p99():.2f} | {ratio} |"
            )


def print_all(all_results):
    print("| model | mode | under way: answers/s (p99 ms) |")
    print("|---|---|---|")
    for name, results in all_results.items():
        for mode in MODES:
            cells = [
                f"{n}: {measured.rate():.1f} ({measured.p99():.1f})"
                for (its, n), measured in sorted(results.items())
                if its == mode
            ]
            print(f"| {name} | {mode} | {'; '.join(cells)} |")


def print_single(all_results):
    print("| model | off p50 ms, best (median) | upstream | adaptive | adaptive to off |")
    print("|---|---|---|---|---|")
    for name, results in all_results.items():
        ones = {mode: results[mode, 1] for mode in MODES}
        cells = [f"{ones[m].best_p50():.3f} ({ones[m].median_p50():.3f})" for m in MODES]
        ratio = ones["adaptive"].best_p50() / ones["off"].best_p50()
        middle = ones["adaptive"].median_p50() / ones["off"].median_p50()
        print(f"| {name} | {' | '.join(cells)} | {ratio:.3f} ({middle:.3f}) |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one short round: does it work?")
    parser.add_argument("--model", action="append", choices=list(BENCHED))
    parser.add_argument(
        "--p99", type=float, help="target in ms, instead of each model's own; for slower machines"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2, help="of each measurement")
    parser.add_argument("--in_flight", type=int, nargs="+", default=[1, 4, 16])
    args = parser.parse_args()
    if args.quick:
        args.rounds, args.seconds, args.in_flight = 1, 1, [1, 8]
    if 1 not in args.in_flight:
        args.in_flight.insert(0, 1)
    tessera = built("TESSERA_BINARY", "//:tessera", "tessera")
    generator = built(
        "TESSERA_LOAD_GENERATOR", "//benchmarks:load_generator", "benchmarks/load_generator"
    )
    names = args.model or list(BENCHED)
    all_results = {name: measure(name, args, tessera, generator) for name in names}
    print(
        f"{os.cpu_count()} cores, {args.rounds} rounds of {args.seconds:g} s in turns, medians. Load "
        "from the same machine.\n"
    )
    print_throughput(all_results, {name: args.p99 or BENCHED[name][1] for name in names})
    print("\nAll of them:\n")
    print_all(all_results)
    print("\nOne request at a time:\n")
    print_single(all_results)


if __name__ == "__main__":
    main()
