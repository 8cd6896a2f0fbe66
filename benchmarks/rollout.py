#!/usr/bin/env python3
"""What a rollout costs the live version, and what clients notice while a bad version is tried.

    scripts/bench rollout [--models=half_plus_two,resnet50] [--rounds=9] [--seconds=4]
                          [--rate_share=0.25] [--trials_only] [--kinds=good,slow,...] [--pushes=1]

Builds //:tessera and //benchmarks:load_generator first, unless TESSERA_BINARY and
TESSERA_LOAD_GENERATOR name them.

Three servers of the same model stand beside each other and are asked in turns over gRPC; each round
asks all of them, in another order. `none` has no rollout. `rollout` tries a second version, a copy
of the first, on 1 % of the requests, and measures both. `mirror` does too, and copies every request
to the live version for the candidate. Routing is measured by one request at a time. Mirroring is
measured by a Poisson process at a share of what the server can do: by default so little that the
candidate could answer as many requests again and still leave half of the machine free.

Then a good version and a bad one of each kind are pushed to a server under load, see
rollout_trial.py.
"""

import argparse
import functools
import os
import pathlib
import shutil
import statistics
import tempfile
import time

from load_generator import Case, answers_per_second, ask, build
import rollout_trial
import swapped_models

from clients.server import Server

# An hour, and more requests than can come, so that no step ends while it is measured.
ROLLOUT = """    rollout:
      steps: [{share_percent: 1, duration_seconds: 3600}, {share_percent: 100}]
      conditions: {min_requests: 1000000000}
"""
BLOCKS = {"none": "", "rollout": ROLLOUT, "mirror": ROLLOUT + "      mirror_percent: 100\n"}
STEP = 2  # the phase of a rollout whose candidate is tried
WARM_UP = 0.5  # seconds


class TriedServer(Server):
    """A server of one model. If it has a rollout, version 2 is tried beside version 1."""

    def __init__(self, folder, kind, name, export):
        self._name = name
        base = folder / kind
        base.mkdir()
        export(base / "1")
        config = folder / f"{kind}.yaml"
        config.write_text(
            f"models:\n  - name: {name}\n    base_path: {base}\n{BLOCKS[kind]}"
            "monitoring:\n  prometheus_config: {enable: true}\n",
            encoding="utf-8",
        )
        super().__init__(f"--config={config}")
        if BLOCKS[kind]:
            export(folder / "new")
            (folder / "new").rename(base / "2")
            self._wait_for_candidate()

    def metric(self, name):
        """The value of a line of the metrics page; 0 if it is not there."""
        _, _, page = self.http("GET", "/monitoring/prometheus/metrics")
        lines = dict(line.rsplit(" ", 1) for line in page.decode().splitlines())
        return int(lines.get(f":tessera:serving:{name}", 0))

    def copies(self, outcome):
        labels = f'{{model_name="{self._name}",outcome="{outcome}"}}'
        return self.metric("rollout_mirrored_requests" + labels)

    def _wait_for_candidate(self):
        deadline = time.monotonic() + 120
        while self.metric(f'rollout_phase{{model_name="{self._name}"}}') != STEP:
            if time.monotonic() > deadline:
                raise TimeoutError(f"version 2 is not tried:\n{self.log()}")
            time.sleep(0.05)


def measure(servers, case, rounds, seconds, *flags):
    """{kind: [window of each round]}."""
    windows = {kind: [] for kind in servers}
    order = list(servers)
    for _ in range(rounds):
        for kind in order:
            windows[kind].append(ask(servers[kind], case, seconds, WARM_UP, *flags))
        order.append(order.pop(0))
    return windows


def best_and_median(windows, key):
    times = [window[key] for window in windows]
    return min(times), statistics.median(times)


def row(columns):
    print("| " + " | ".join(columns) + " |", flush=True)


def report(name, load, windows, note=""):
    """Prints a line for each kind of server, beside the first one."""
    first = next(iter(windows))
    for kind, measured in windows.items():
        columns = [name, load, kind]
        for key in ("p50_us", "p99_us"):
            (best, median), (base, base_median) = (
                best_and_median(windows[k], key) for k in (kind, first)
            )
            columns.append(f"{best:.0f} ({median:.0f})")
            columns.append(
                ""
                if kind == first
                else f"{best - base:+.1f} ({median - base_median:+.1f}) us, "
                f"{best / base:.3f} ({median / base_median:.3f})"
            )
        columns.append(str(sum(w["lost"] + w["wrong"] for w in measured)))
        row(columns + [note if kind == "mirror" else ""])


def compare(name, folder, options):
    """Prints the lines of one model."""
    export = getattr(swapped_models, "export_" + name)
    request, answer = export(folder / "template", name)
    case = Case(folder, name, request, [answer])
    servers = {}
    try:
        for kind in BLOCKS:
            servers[kind] = TriedServer(folder, kind, name, functools.partial(shutil.copytree, folder / "template"))
        capacity = answers_per_second(servers["none"], case, len(os.sched_getaffinity(0)))
        rate = options.rate_share * capacity
        one = measure(servers, case, options.rounds, options.seconds, "--in_flight=1")
        report(name, "1 in flight", one)
        poisson = measure(servers, case, options.rounds, options.seconds, f"--rate={rate}")
        note = " / ".join(str(servers["mirror"].copies(o)) for o in ("compared", "dropped"))
        report(name, f"{rate:.0f}/s of {capacity:.0f}", poisson, note)
    finally:
        for server in servers.values():
            server.stop()


def report_costs(options):
    row(
        ["model", "load", "server", "p50, us: best (median)", "to none", "p99, us", "to none"]
        + ["lost or wrong", "copies compared / dropped"]
    )
    row(["---"] * 9)
    for name in options.models.split(","):
        with tempfile.TemporaryDirectory(prefix="bench-rollout-") as temporary:
            compare(name, pathlib.Path(temporary), options)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", default="half_plus_two,resnet50")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=4, help="of load, for each server and round")
    parser.add_argument("--rate_share", type=float, default=0.25, help="of what the server can do")
    parser.add_argument("--trials_only", action="store_true", help="only pushes new versions")
    parser.add_argument("--kinds", default=",".join(rollout_trial.KINDS), help="of new versions")
    parser.add_argument("--pushes", type=int, default=1, help="of each kind, taken together")
    options = parser.parse_args()
    build()
    if not options.trials_only:
        report_costs(options)
    with tempfile.TemporaryDirectory(prefix="bench-rollout-") as temporary:
        rollout_trial.report(row, pathlib.Path(temporary), options)


if __name__ == "__main__":
    main()
