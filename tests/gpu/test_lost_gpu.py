"""A GPU that is lost while models are served on it: a kernel writes to an address that is not there.

scripts/gpu/check names the program by TESSERA_CUDA_BINARY.
"""

import json
import pathlib
import subprocess
import time

import pytest

from clients.server import DATA, Model, Server
from gpu.test_cuda_program import BINARY, driver_is_there

pytestmark = [
    pytest.mark.skipif(BINARY is None, reason="needs a build with --config=cuda"),
    pytest.mark.skipif(not driver_is_there(), reason="needs an NVIDIA GPU"),
]
SAMPLES = DATA / "digits" / "samples.json"


def wait_for(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_requests_get_unavailable_and_health_turns_red(tmp_path, monkeypatch):
    source = pathlib.Path(__file__).with_name("fault_injection.c")
    library = tmp_path / "fault.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl", "-lpthread"], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setenv("FAULT_FILE", str(tmp_path / "now"))
    with Server(models=[Model("digits", DATA / "digits")], program=[BINARY, "serve"]) as server:

        def predict():
            return server.http("POST", "/v1/models/digits:predict", SAMPLES.read_bytes())

        status, _, answer = predict()
        assert status == 200, answer
        (tmp_path / "now").touch()
        wait_for(lambda: predict()[0] == 503)
        wait_for(lambda: server.http("GET", "/readyz")[0] == 503)
        status, _, answer = predict()
        assert status == 503
        assert "the GPU is lost, and the program must be started anew" in json.loads(answer)["error"]
        assert server.http("GET", "/livez")[0] == 200
        assert server.is_running(), server.log()
    assert server.exit_code == 0
