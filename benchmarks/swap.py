#!/usr/bin/env python3
"""What requests notice while new versions of a large model load, warm up and go live.

    scripts/bench swap [--models=half_plus_two,resnet50] [--megabytes=100,500]
                       [--loading=designed,idle,request_pool] [--seconds=20] [--rate_share=0.5]

Builds //:tessera and //benchmarks:load_generator first, unless TESSERA_BINARY and
TESSERA_LOAD_GENERATOR name them.

One model is asked over gRPC, as a Poisson process at a share of what the server can do; versions of
another model, one that nobody asks, take each other's place beside it. Windows alternate: quiet,
then a swap, from the moment the new version's folder has its name until the old version is gone.
Versions are asked for their states in both, so that what the questions cost is in both.
`idle` loads at --load_priority=idle: in the time that nothing else on the machine wants.
`request_pool` loads with --load_priority=none: at the priority and on the threads of requests. The
generator shares the machine's cores with the server.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

from load_generator import Case, Load, answers_per_second, build
import swapped_models

from google.protobuf import text_format
from tensorflow_serving.apis import model_management_pb2

from clients.client import Client
from clients.server import Model, Server, config_text

LOADING = {
    "designed": [],
    "idle": ["--load_priority=idle"],
    "request_pool": ["--load_priority=none"],
}
# Of the closed loop that measures what the server can do: one a core. With more, requests are read
# and answered many at a time, which makes each cheaper than those of a Poisson process are.
IN_FLIGHT = len(os.sched_getaffinity(0))
# A median of so many times what an answer takes in that loop is that of a queue.
OVERLOAD = 10
# More in a row say little that is new: without pauses one takes 30 ms, and the window beside it 500.
MOST_SWAPS = 100
# Seconds between two questions for the states of versions.
POLL = 0.02
GOALS = {"p99_us": 1.2, "p99.9_us": 1.5}


class SwappedModel:
    """A model that two copies of a version on disk take turns to be the newest version of."""

    def __init__(self, folder, megabytes):
        self.model = Model("swapped", folder / "swapped")
        self._base = folder / "swapped"
        self._spare = folder / "spare"
        self.number = 1
        self._base.mkdir()
        swapped_models.export_weights(self._spare, "swapped", megabytes)
        shutil.copytree(self._spare, self._base / "1")

    def swap(self, client, configure):
        """Pushes the next version, and returns once it serves and the one before is gone."""
        old, self.number = self.number, self.number + 1
        self._spare.rename(self._base / str(self.number))
        configure()
        deadline = time.monotonic() + 300
        while True:
            states = client.version_states("swapped")
            if states.get(old, ("END",))[0] == "END" and states[self.number][0] == "AVAILABLE":
                break
            if time.monotonic() > deadline:
                raise TimeoutError(f"the versions do not change: {states}")
            time.sleep(POLL)
        (self._base / str(old)).rename(self._spare)


def wait(client, seconds):
    """Asks for states as swap() does."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        client.version_states("swapped")
        time.sleep(POLL)


def configurer(client, models):
    """A function that gives the server its configuration again: it then looks at the folders."""
    request = model_management_pb2.ReloadConfigRequest()
    text_format.Parse(config_text(models), request.config)
    return lambda: client.models.HandleReloadConfigRequest(request, timeout=60)


def measure(asked, case, swapped, flags, rate, seconds):
    """(summary, times of the swaps). `seconds` of swaps, and at least as long without."""
    models = [asked, swapped.model]
    with Server("--file_system_poll_wait_seconds=0", *flags, models=models) as server:
        with Client(server) as client, Load(server, case, rate) as load:
            configure = configurer(client, models)
            time.sleep(3)
            swapped.swap(client, configure)  # what is made once is made now
            times = []
            while sum(times) < seconds and len(times) < MOST_SWAPS:
                load.window("before")
                wait(client, max(0.5, times[-1] if times else 0))
                start = time.monotonic()
                load.window("swap")
                swapped.swap(client, configure)
                load.window("")
                times.append(time.monotonic() - start)
                time.sleep(0.3)
        if not server.is_running():
            raise RuntimeError(server.log())
    return load.summary, times


def row(columns):
    print("| " + " | ".join(columns) + " |", flush=True)


def report(name, megabytes, loading, rate, rate_share, summary, times):
    """Prints a line; True if it meets the goals."""
    before, during = summary["windows"]["before"], summary["windows"]["swap"]
    if before["p50_us"] > OVERLOAD * 1e6 * IN_FLIGHT * rate_share / rate:
        row([f"{name}, {rate:.0f}/s", "", "", "overloaded without a swap: busy machine"] + [""] * 7)
        return False
    columns = [
        f"{name}, {rate:.0f}/s",
        f"{megabytes} MB",
        loading.replace("_", " "),
        f"{len(times)} of {statistics.median(times):.2f} s",
        f"{before['requests']} / {during['requests']}",
    ]
    met = True
    for key in ("p50_us", "p99_us", "p99.9_us", "max_us"):
        ratio = during[key] / before[key]
        met = met and ratio <= GOALS.get(key, ratio)
        columns.append(f"{before[key] / 1e3:.2f} → {during[key] / 1e3:.2f} ({ratio:.2f})")
    columns += [str(before["lost"] + during["lost"]), str(before["wrong"] + during["wrong"])]
    row(columns)
    for failure in summary["failures"]:
        print(failure, file=sys.stderr)
    return met and columns[-2:] == ["0", "0"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", default="half_plus_two,resnet50")
    parser.add_argument("--megabytes", default="100,500")
    parser.add_argument("--loading", default="designed,request_pool")
    parser.add_argument("--seconds", type=float, default=20, help="of swaps, for each line; a hundred swaps are enough")
    parser.add_argument("--rate_share", type=float, default=0.5, help="of what the server can do")
    options = parser.parse_args()
    build()
    row(
        ["asked", "swapped", "loading", "swaps", "requests before / in swaps"]
        + [f"{p}, ms before → in swaps (ratio)" for p in ("p50", "p99", "p99.9", "max")]
        + ["lost", "wrong"]
    )
    row(["---"] * 11)
    goal_met = True
    with tempfile.TemporaryDirectory(prefix="bench-swap-") as temporary:
        folder = pathlib.Path(temporary)
        for name in options.models.split(","):
            (folder / name).mkdir()
            export = getattr(swapped_models, "export_" + name)
            request, answer = export(folder / name / "1", name)
            case = Case(folder, name, request, [answer])
            asked = Model(name, folder / name)
            with Server(models=[asked]) as server:
                rate = options.rate_share * answers_per_second(server, case, IN_FLIGHT)
            for megabytes in options.megabytes.split(","):
                swapped = SwappedModel(pathlib.Path(tempfile.mkdtemp(dir=folder)), int(megabytes))
                for loading in options.loading.split(","):
                    # Each server begins with the version that the one before ended with.
                    summary, times = measure(
                        asked, case, swapped, LOADING[loading], rate, options.seconds
                    )
                    met = report(
                        name, megabytes, loading, rate, options.rate_share, summary, times
                    )
                    goal_met = goal_met and (met or loading != "designed")
    if "designed" in options.loading.split(","):
        print("\nGoal of 'designed': p99 within 1.2 times, p99.9 within 1.5 times, none lost or "
              "wrong: " + ("met" if goal_met else "not met"))


if __name__ == "__main__":
    main()
