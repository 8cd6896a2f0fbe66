#!/usr/bin/env python3
"""What one model's clients notice of a flood of requests to another model of the same server.

    scripts/bench fairness [--models=half_plus_two,layers,resnet50] [--rounds=5] [--seconds=4]
                           [--in_flight=64] [--share=1] [--baseline=DIR]

Builds //:tessera and //benchmarks:load_generator first, unless TESSERA_BINARY and
TESSERA_LOAD_GENERATOR name them. --baseline names the bazel-bin folder of another checkout, whose
server takes turns with ours.

The flooded model is a ResNet-50 with --in_flight requests under way all the time. The polite model
is asked over gRPC by one request at a time: `half_plus_two` runs for microseconds, `layers` for some
milliseconds, and `resnet50` as long as the flooded one. Each round asks it alone, then while as many
threads of another process keep every core busy, which shows what the system's own sharing of the
cores costs, and then beside the flood. --share is the polite model's weight.
"""

import argparse
import contextlib
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from load_generator import Case, ask, build, program
import swapped_models

import numpy as np

from clients.server import Server

CORES = len(os.sched_getaffinity(0))
WARM_UP = 0.5  # seconds
LAYERS_MEGABYTES = 34
FLOODED = "flooded"
CONFIG = """
grpc_max_threads: {threads}
models:
  - {{name: polite, base_path: {polite}{limits}}}
  - {{name: flooded, base_path: {flooded}}}
"""


def export_layers(folder, model):
    """Some products of a vector and a matrix."""
    request, width = swapped_models.export_weights(folder, model, LAYERS_MEGABYTES)
    return request, swapped_models.response({"y": np.zeros((1, width), np.float32)})


def export(name, folder, model):
    if name == "layers":
        return export_layers(folder, model)
    return getattr(swapped_models, "export_" + name)(folder, model)


@contextlib.contextmanager
def running(*commands):
    """Processes for as long as the `with` lasts."""
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    try:
        time.sleep(WARM_UP)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def nothing(_server, _case, _options):
    return running()


def busy_cores(_server, _case, _options):
    return running(*[[sys.executable, "-c", "while True: pass"]] * CORES)


def flood(server, case, options):
    return running(
        [program(), f"--target=grpc://{server.grpc_address}", "--warmup=0", "--duration=3600",
         f"--in_flight={options.in_flight}", case.argument()]
    )


BESIDE = {"alone": nothing, "busy cores": busy_cores, "flood": flood}


def row(columns):
    print("| " + " | ".join(columns) + " |", flush=True)


def report(name, binary, windows):
    """Prints a line for what was beside the polite model, with ratios to alone."""
    for beside, measured in windows.items():
        columns = [name, binary, beside, str(sum(w["requests"] for w in measured))]
        for key in ("p50_us", "p99_us"):
            # Without answers a window has no times.
            times = [w[key] if w["requests"] else math.inf for w in measured]
            median = statistics.median(times)
            ratio = median / statistics.median(w[key] for w in windows["alone"])
            columns.append(
                f"{min(times):.0f} ({median:.0f})" + ("" if beside == "alone" else f", {ratio:.2f}")
            )
        columns.append(str(sum(w["lost"] + w["wrong"] for w in measured)))
        row(columns)


def compare(name, flooded, flooded_case, folder, options):
    request, answer = export(name, folder / "polite" / "1", "polite")
    case = Case(folder, "polite", request, [answer])
    config = folder / "config.yaml"
    config.write_text(
        CONFIG.format(
            threads=4 * CORES,
            polite=folder / "polite",
            flooded=flooded,
            limits=f", limits: {{share: {options.share}}}" if options.share > 1 else "",
        ),
        encoding="utf-8",
    )
    programs = {"ours": None}
    if options.baseline:
        programs["baseline"] = [str(options.baseline / "tessera"), "serve"]
    windows = {binary: {beside: [] for beside in BESIDE} for binary in programs}
    for _ in range(options.rounds):
        for binary, words in programs.items():
            with Server(f"--config={config}", program=words) as server:
                for beside, begin in BESIDE.items():
                    with begin(server, flooded_case, options):
                        windows[binary][beside].append(
                            ask(server, case, options.seconds, WARM_UP, "--in_flight=1")
                        )
    for binary, measured in windows.items():
        report(name, binary, measured)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", default="half_plus_two,layers,resnet50")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4, help="of load, for each measurement")
    parser.add_argument("--in_flight", type=int, default=64, help="requests to the flooded model")
    parser.add_argument("--share", type=int, default=1, help="weight of the polite model")
    parser.add_argument("--baseline", type=pathlib.Path, metavar="DIR")
    options = parser.parse_args()
    build()
    row(["polite model", "server", "beside", "requests", "p50, us: best (median), to alone",
         "p99, us, to alone", "lost or wrong"])
    row(["---"] * 7)
    with tempfile.TemporaryDirectory(prefix="bench-fairness-") as temporary:
        folder = pathlib.Path(temporary)
        request, answer = export("resnet50", folder / FLOODED / "1", FLOODED)
        case = Case(folder, FLOODED, request, [answer])
        for name in options.models.split(","):
            own = folder / name
            own.mkdir()
            compare(name, folder / FLOODED, case, own, options)


if __name__ == "__main__":
    main()
