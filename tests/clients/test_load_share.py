"""Loads beside requests: on which cores, and at which priority, their threads run."""

import math
import os
import pathlib
import shutil

import pytest

from clients.client import Client
from clients.conftest import HALF_PLUS_TWO
from clients.fault_steps import wait_for_state
from clients.server import Model, Server

SHARE = 0.5


def threads(server, name):
    """Of the server's threads of this name, ids."""
    tasks = pathlib.Path(f"/proc/{server.process.pid}/task")
    return [int(task.name) for task in tasks.iterdir() if (task / "comm").read_text() == name + "\n"]


@pytest.mark.parametrize("flags, policy, levels", [
    ((), os.SCHED_OTHER, 10),
    (("--num_load_threads=3",), os.SCHED_OTHER, 10),
    (("--load_priority=idle",), os.SCHED_IDLE, 0),
])
def test_loads_together_stay_on_their_share_of_the_cores(tmp_path, flags, policy, levels):
    models = [Model(f"m{i}", tmp_path / f"m{i}") for i in range(3)]
    for model in models:
        shutil.copytree(HALF_PLUS_TWO / "00000123", pathlib.Path(model.base_path) / "1")
    with Server(f"--load_cpu_share={SHARE}", *flags, models=models) as server, Client(
        server
    ) as client:
        before = set(threads(server, "load"))
        assert not before, "the first loads have nobody to make way for"
        for model in models:
            ready = tmp_path / f"{model.name}.ready"
            shutil.copytree(HALF_PLUS_TWO / "00000123", ready)
            ready.rename(pathlib.Path(model.base_path) / "2")
        for model in models:
            wait_for_state(client, model.name, 2, "AVAILABLE")
        # Load threads that have nothing to do stay for some seconds.
        loading = threads(server, "load")
        background = threads(server, "background")
        assert loading and background
        everywhere = os.sched_getaffinity(server.process.pid)
        cores = set().union(*(os.sched_getaffinity(thread) for thread in loading + background))
        assert len(cores) == max(1, math.floor(SHARE * len(everywhere) + 0.5))
        assert cores <= everywhere
        assert {os.sched_getscheduler(thread) for thread in loading} == {policy}
        nice = min(os.getpriority(os.PRIO_PROCESS, server.process.pid) + levels, 19)
        assert {os.getpriority(os.PRIO_PROCESS, thread) for thread in loading} == {nice}
        assert os.sched_getaffinity(threads(server, "manager")[0]) == everywhere
