#!/usr/bin/env python3
"""New weights for a live model: a folder with weights alone against a whole SavedModel of the same.

    scripts/bench push [--models=resnet50,weights_100mb,weights_500mb] [--rounds=10] [--seconds=10]
                       [--load_priority=low]

Builds //:tessera and //benchmarks:load_generator first, unless TESSERA_BINARY and
TESSERA_LOAD_GENERATOR name them.

A model is resnet50, weights_NUMBERmb, or one of `scripts/bench model`, such as bert_base.

A version of a model is live. By turns its next version is a copy of the whole folder and a copy of
the folder `variables` alone, renamed into place. First without requests: the time of a load and of
its stages by the server's own log and metrics, best (median) milliseconds, where the rest is the
warm-up, which packs weights; and by how much resident memory grew at the most, where the old version
is unloaded only when the new one serves. Then under requests to half_plus_two beside it, a Poisson
process at a share of what the server can do: windows of nothing and of pushes of either kind
alternate. The generator shares the machine's cores.
"""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import sys
import tempfile
import time

from load_generator import Case, Load, ROOT, answers_per_second, build
import programs
import swapped_models

sys.path.insert(0, str(programs.ROOT / "benchmarks" / "models"))
import make_models  # noqa: E402

from google.protobuf import text_format
from tensorflow_serving.apis import model_management_pb2

from clients.client import Client
from clients.server import Model, Server, config_text

KINDS = ("SavedModel", "weights")
STAGES = ("read", "import", "restore_graph", "freeze", "compile", "prepare")
STAGE = re.compile(r'^:tessera:serving:load_latency_by_stage_sum\{stage="(\w+)"\} (\S+)$', re.M)
LOADED = r"loaded servable \{{name: pushed version: {}\}} in ([\d.]+)(us|ms|s)"
MILLISECONDS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
FLAGS = [
    "--file_system_poll_wait_seconds=0",
    "--version_settle_seconds=0",
    f"--monitoring_config_file={ROOT / 'config' / 'monitoring.config'}",
]
IN_FLIGHT = len(os.sched_getaffinity(0))
# Seconds between two questions for the states of versions.
POLL = 0.01


def export(name, folder):
    if name == "resnet50":
        swapped_models.export_resnet50(folder, "pushed")
    elif name.startswith("weights_"):
        swapped_models.export_weights(folder, "pushed", int(name.split("_")[1].removesuffix("mb")))
    else:
        make_models.make(name, make_models.default_directory())
        shutil.copytree(make_models.default_directory() / name / "1", folder)


class PushedModel:
    """A model whose version 1 stays on disk, as the graph that weights are loaded on."""

    def __init__(self, folder, name):
        self.model = Model("pushed", folder / "pushed")
        self._base = folder / "pushed"
        self._base.mkdir(parents=True)
        export(name, self._base / "1")
        self.number = 1

    def prepare(self, kind):
        """Copies the next version beside the others."""
        part = "variables" if kind == "weights" else ""
        shutil.copytree(self._base / "1" / part, self._base / "next" / part)

    def push(self, client, configure):
        """Returns once the prepared version serves and the one before is gone."""
        old, self.number = self.number, self.number + 1
        (self._base / "next").rename(self._base / str(self.number))
        configure()
        deadline = time.monotonic() + 300
        while True:
            states = client.version_states("pushed")
            new = states.get(self.number, ("START", (0, "")))
            if states.get(old, ("END",))[0] == "END" and new[0] == "AVAILABLE":
                break
            if new[0] == "END" or time.monotonic() > deadline:
                raise RuntimeError(f"the version does not come: {states}")
            time.sleep(POLL)
        if old != 1:
            shutil.rmtree(self._base / str(old))


def configurer(client, models):
    """A function that gives the server its configuration again: it then looks at the folders."""
    request = model_management_pb2.ReloadConfigRequest()
    text_format.Parse(config_text(models), request.config)
    return lambda: client.models.HandleReloadConfigRequest(request, timeout=60)


def stages(server):
    """Milliseconds of each stage, all loads together."""
    _, _, page = server.http("GET", "/monitoring/prometheus/metrics")
    return {stage: float(total) / 1e3 for stage, total in STAGE.findall(page.decode())}


class ResidentMemory:
    """How much the resident memory of a process grows at the most, from here on."""

    def __init__(self, pid):
        self._process = pathlib.Path("/proc") / str(pid)
        (self._process / "clear_refs").write_text("5")  # sets the peak to what is resident now
        self._start = self._peak()

    def _peak(self):
        (kilobytes,) = re.findall(r"VmHWM:\s+(\d+)", (self._process / "status").read_text())
        return int(kilobytes) * 1024 / 1e6

    def growth(self):
        """In megabytes."""
        return self._peak() - self._start


def load_times(pushed, rounds, load_priority):
    """{kind: [{"load": ms, stage: ms, "rest": ms, "memory": MB}]}, of a server without requests."""
    results = {kind: [] for kind in KINDS}
    flags = [*FLAGS, f"--load_priority={load_priority}"]
    with Server(*flags, models=[pushed.model]) as server, Client(server) as client:
        configure = configurer(client, [pushed.model])
        for number in range(rounds + 1):
            for kind in KINDS:
                pushed.prepare(kind)
                before, memory = stages(server), ResidentMemory(server.process.pid)
                pushed.push(client, configure)
                if number == 0:
                    continue  # what is made once is made now
                took = {stage: total - before.get(stage, 0) for stage, total in stages(server).items()}
                log = server.log(last_lines=10**6)
                value, unit = re.search(LOADED.format(pushed.number), log).groups()
                load = float(value) * MILLISECONDS[unit]
                took |= {"load": load, "rest": load - sum(took.values()), "memory": memory.growth()}
                results[kind].append(took)
    return results


def beside_requests(asked, case, pushed, rate, seconds):
    """The generator's windows "quiet", and one for each kind, with at least `seconds` of pushes."""
    models = [asked, pushed.model]
    with Server(*FLAGS, models=models) as server, Client(server) as client:
        with Load(server, case, rate) as load:
            configure = configurer(client, models)
            time.sleep(3)
            times = {kind: [] for kind in KINDS}
            while min(map(sum, times.values())) < seconds:
                for kind in KINDS:
                    pushed.prepare(kind)
                    time.sleep(0.3)
                    load.window("quiet")
                    time.sleep(times[kind][-1] if times[kind] else 1)
                    start = time.monotonic()
                    load.window(kind)
                    pushed.push(client, configure)
                    load.window("")
                    times[kind].append(time.monotonic() - start)
    return load.summary["windows"], times


def report_load_times(name, results):
    for kind in KINDS:
        cells = []
        for column in ("load", *STAGES, "rest", "memory"):
            values = [result.get(column, 0) for result in results[kind]]
            cells.append(f"{min(values):.1f} ({statistics.median(values):.1f})")
        programs.print_row(name, kind, *cells)


def report_requests(name, rate, windows, times):
    quiet = windows["quiet"]
    for kind in KINDS:
        window = windows[kind]
        programs.print_row(
            f"{name}, {rate:.0f}/s",
            kind,
            f"{len(times[kind])} of {statistics.median(times[kind]):.2f} s",
            f"{quiet['requests']} / {window['requests']}",
            *(
                f"{quiet[key] / 1e3:.2f} → {window[key] / 1e3:.2f} ({window[key] / quiet[key]:.2f})"
                for key in ("p50_us", "p99_us", "p99.9_us")
            ),
            quiet["lost"] + window["lost"],
            quiet["wrong"] + window["wrong"],
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", default="resnet50,weights_100mb,weights_500mb")
    parser.add_argument("--rounds", type=int, default=10, help="pushes of each kind without requests")
    parser.add_argument("--seconds", type=float, default=10, help="of pushes of each kind beside requests")
    parser.add_argument("--load_priority", default="low", choices=("low", "idle", "none"),
                        help="of loads without requests; at idle they wait for all else on the machine")
    parser.add_argument("--rate_share", type=float, default=0.5, help="of what the server can do")
    options = parser.parse_args()
    build()
    with tempfile.TemporaryDirectory(prefix="bench-push-") as temporary:
        folder = pathlib.Path(temporary)
        pushed = {name: PushedModel(folder / name, name) for name in options.models.split(",")}
        programs.print_head("model", "pushed", "load", *STAGES, "rest", "memory, MB")
        for name, model in pushed.items():
            report_load_times(name, load_times(model, options.rounds, options.load_priority))
        if not options.seconds:
            return

        request, answer = swapped_models.export_half_plus_two(folder / "asked" / "1", "asked")
        case = Case(folder, "asked", request, [answer])
        asked = Model("asked", folder / "asked")
        with Server(models=[asked]) as server:
            rate = options.rate_share * answers_per_second(server, case, IN_FLIGHT)
        print()
        programs.print_head(
            "pushed, requests beside", "pushed", "pushes", "requests quiet / in pushes",
            *(f"{p}, ms quiet → in pushes (ratio)" for p in ("p50", "p99", "p99.9")),
            "lost", "wrong",
        )  # fmt: skip
        for name, model in pushed.items():
            report_requests(name, rate, *beside_requests(asked, case, model, rate, options.seconds))


if __name__ == "__main__":
    main()
