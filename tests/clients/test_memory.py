"""Memory after a burst of large requests."""

import pathlib
import re
import time

import numpy as np

from clients.client import Client, predict_request
from clients.conftest import HALF_PLUS_TWO
from clients.server import Model, Server

MEGABYTES = 4
IN_FLIGHT = 4
BURST_SECONDS = 3
# Over what an idle server takes.
LEFT_MEGABYTES = 60
WAIT_SECONDS = 20


def anonymous_megabytes(server):
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"RssAnon:\s*(\d+) kB", status)[1]) / 1024


def send_burst(client, request):
    """Keeps IN_FLIGHT requests under way."""
    until = time.monotonic() + BURST_SECONDS
    calls = []
    while time.monotonic() < until or calls:
        while len(calls) < IN_FLIGHT and time.monotonic() < until:
            calls.append(client.prediction.Predict.future(request, timeout=60))
        assert calls.pop(0).result().outputs["y"].tensor_shape.dim[0].size == MEGABYTES << 18


def test_memory_comes_back_after_a_burst_of_large_requests():
    request = predict_request("m", {"x": np.zeros(MEGABYTES << 18, np.float32)})
    with Server(models=[Model("m", HALF_PLUS_TWO)]) as server:
        before = anonymous_megabytes(server)
        with Client(server) as client:
            send_burst(client, request)
        deadline = time.monotonic() + WAIT_SECONDS
        while anonymous_megabytes(server) > before + LEFT_MEGABYTES:
            assert time.monotonic() < deadline, (before, anonymous_megabytes(server))
            time.sleep(0.5)
