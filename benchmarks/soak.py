#!/usr/bin/env python3
"""A thousand versions of a model under load: what is lost, what stays in memory, how soon each serves.

    scripts/bench soak [--swaps=1000] [--megabytes=4] [--rate=500] [--poll=SECONDS]

Builds //:tessera and //benchmarks:load_generator first, unless TESSERA_BINARY and
TESSERA_LOAD_GENERATOR name them.

Version N answers x + N, so that every answer says which version gave it; an answer in the name of
one version with the numbers of another is wrong. A version appears when its folder gets its name.
With --poll the server looks for versions by itself at that interval; without, it is told to look by
a HandleReloadConfigRequest right after, so that the times are the server's and not the interval's.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile
import time

import numpy as np

from load_generator import Case, Load, build
import swapped_models

from clients.client import Client
from clients.server import Model, Server
from swap import configurer


def memory(server):
    """Resident megabytes: (all, without what is in files)."""
    lines = pathlib.Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return tuple(int(fields[name].split()[0]) / 1e3 for name in ("VmRSS", "RssAnon"))


def wait_for(client, number, state):
    deadline = time.monotonic() + 60
    while client.version_states("m").get(number, ("",))[0] != state:
        if time.monotonic() > deadline:
            raise TimeoutError(f"version {number} is not {state}: {client.version_states('m')}")
        time.sleep(0.001)


def make_case(folder, request, width, swaps):
    value = np.linspace(-1, 1, width, dtype=np.float32)[None]
    request.inputs["x"].CopyFrom(swapped_models.tensor(value))
    answers = [
        swapped_models.response({"y": value + np.float32(number)}, version=number)
        for number in range(1, swaps + 2)
    ]
    return Case(folder, "m", request, answers)


def prepare(template, folder, number):
    """A version, ready to be moved to where the server looks."""
    ready = folder / f"{number}.ready"
    shutil.copytree(template, ready)
    swapped_models.write_offset(ready, number)
    return ready


def soak(folder, options):
    """(summary, seconds from appearance to available, memory after the tenth and the last swap)."""
    template, base = folder / "template", folder / "m"
    base.mkdir()
    request, width = swapped_models.export_weights(template, "m", options.megabytes)
    case = make_case(folder, request, width, options.swaps)
    prepare(template, folder, 1).rename(base / "1")
    models = [Model("m", base)]
    poll = f"--file_system_poll_wait_seconds={options.poll}"
    times, sizes = [], {}
    with Server(poll, models=models) as server, Client(server) as client:
        configure = configurer(client, models)
        with Load(server, case, options.rate) as load:
            load.window("run")
            for swap in range(1, options.swaps + 1):
                ready = prepare(template, folder, swap + 1)
                start = time.monotonic()
                ready.rename(base / str(swap + 1))
                if options.poll == 0:
                    configure()
                wait_for(client, swap + 1, "AVAILABLE")
                times.append(time.monotonic() - start)
                wait_for(client, swap, "END")
                shutil.rmtree(base / str(swap))
                if swap in (10, options.swaps):
                    time.sleep(3)
                    sizes[swap] = memory(server)
                if swap % 100 == 0:
                    print(f"{swap} swaps, {memory(server)[0]:.0f} MB", file=sys.stderr)
            load.window("")
    return load.summary, times, sizes


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--swaps", type=int, default=1000)
    parser.add_argument("--megabytes", type=int, default=4)
    parser.add_argument("--rate", type=float, default=500, help="requests a second")
    parser.add_argument("--poll", type=int, default=0)
    options = parser.parse_args()
    build()
    with tempfile.TemporaryDirectory(prefix="bench-soak-") as folder:
        summary, times, sizes = soak(pathlib.Path(folder), options)
    run = summary["windows"]["run"]
    print("| swaps | requests | lost | wrong | appearance to available, p50 / p99 / max, ms "
          "| resident after swap 10 → last, MB | without files |")
    print("|---|---|---|---|---|---|---|")
    percentiles = np.percentile(times, [50, 99, 100], method="higher") * 1e3
    tenth, last = sizes[min(sizes)], sizes[max(sizes)]
    resident, anonymous = (
        f"{a:.1f} → {b:.1f} ({100 * (b / a - 1):+.1f} %)" for a, b in zip(tenth, last)
    )
    print(f"| {options.swaps} | {run['requests']} | {run['lost']} | {run['wrong']} | "
          + " / ".join(f"{value:.0f}" for value in percentiles)
          + f" | {resident} | {anonymous} |")
    for failure in summary["failures"]:
        print(failure, file=sys.stderr)
    met = run["lost"] + run["wrong"] == 0 and last[0] <= 1.05 * tenth[0]
    print("\nGoal, none lost or wrong and memory within 5 % of that after the tenth swap: "
          + ("met" if met else "not met"))


if __name__ == "__main__":
    main()
