"""Versions of a model change on a GPU while requests go on, and its memory comes back.

scripts/gpu/check names the program by TESSERA_CUDA_BINARY.
"""

import json
import shutil
import subprocess
import time

import pytest

from clients.server import DATA, Model, Server
from clients.test_hot_swap import Load
from gpu.test_cuda_program import BINARY, driver_is_there

pytestmark = [
    pytest.mark.skipif(BINARY is None, reason="needs a build with --config=cuda"),
    pytest.mark.skipif(not driver_is_there(), reason="needs an NVIDIA GPU"),
]
DIGITS = DATA / "digits"
SWAPS = 200


def serve(folder, config):
    """A server of the versions in `folder` that gives back the GPU's memory which it does not use."""
    config.write_text("gpu_options { allow_growth: true }")
    return Server(
        f"--tensorflow_session_config_file={config}",
        models=[Model("digits", folder)],
        program=[BINARY, "serve"],
    )


def publish(number, folder):
    """Adds a version at once: a copy of one of the two that there are, by turns."""
    copy = folder / f"{number}.tmp"
    shutil.copytree(DIGITS / str(2 - number % 2), copy)
    copy.rename(folder / str(number))


def used_mebibytes():
    """What all processes use of the GPUs' memory."""
    query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    lines = subprocess.run(query, check=True, capture_output=True, text=True).stdout.split()
    return sum(int(line) for line in lines)


def count_unloads(server):
    return server.log(last_lines=100000).count("unloaded servable")


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_no_request_fails_in_200_swaps(tmp_path):
    folder = tmp_path / "digits"
    folder.mkdir()
    publish(1, folder)
    images = json.loads((DIGITS / "samples.json").read_text())["instances"]
    with serve(folder, tmp_path / "session.config") as server:
        with Load(server, images) as load:
            load.wait_for(1)
            for number in range(2, SWAPS + 2):
                publish(number, folder)
                load.wait_for(number)
                shutil.rmtree(folder / str(number - 1))
        assert load.failures == []
        assert load.versions == sorted(load.versions)


def test_memory_is_back_after_an_unload(tmp_path):
    folder = tmp_path / "digits"
    folder.mkdir()
    publish(1, folder)

    def ready():
        return server.http("GET", "/readyz")[0] == 200

    with serve(folder, tmp_path / "session.config") as server:
        after_unloads = []
        for unloads in range(1, 6):
            wait_for(ready)
            status, _, answer = server.http(
                "POST", "/v1/models/digits:predict", (DIGITS / "samples.json").read_bytes()
            )
            assert status == 200, answer
            (folder / "1").rename(tmp_path / "away")
            wait_for(lambda: not ready())
            wait_for(lambda count=unloads: count_unloads(server) == count)
            after_unloads.append(used_mebibytes())
            (tmp_path / "away").rename(folder / "1")
        # The driver and the libraries keep what they took for the first version.
        assert max(after_unloads[1:]) <= after_unloads[0] + 16, after_unloads
