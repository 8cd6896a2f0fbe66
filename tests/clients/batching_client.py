"""Short forms for tests of batching, whose servers are made by the fixture start_batching.

Which requests ran together is told by the model itself, see batching_model.py: the output `rows`
of signature `look` holds how many rows the run had.
"""

import os

import grpc
import numpy as np

from clients.client import array, predict_request
from clients.fault_steps import wait_until

# Longer than a test lasts, in microseconds.
FOREVER = 3600 * 1000 * 1000


class Gate:
    """What requests of signature `held` wait for: a file that says `open`."""

    def __init__(self, folder):
        self.path = str(folder / "gate")
        self.shut()

    def shut(self):
        self._write("shut")

    def open(self):
        self._write("open")

    def _write(self, text):
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(self.path + ".new", self.path + "0")


def parameters(**fields):
    """BatchingParameters as text proto."""
    lines = []
    for name, value in fields.items():
        if isinstance(value, list):
            lines.append(f"{name}: {value}")
        elif name == "pad_variable_length_inputs":
            lines.append(f"{name}: true")
        elif value is True:
            lines.append(f"{name} {{ value: true }}")
        else:
            lines.append(f"{name} {{ value: {value} }}")
    return "\n".join(lines) + "\n"


def look(values, outputs=(), dtype=np.float32):
    values = np.asarray(values, dtype)
    return predict_request("look", {"x": values}, output_filter=outputs, signature="look")


def held():
    return predict_request("look", {"x": np.zeros(1, np.float32)}, signature="held")


def send(server, *requests, in_order=False, timeout=60):
    """Sends all without waiting for answers. With `in_order` each one is answered, or waits for its
    batch to begin, before the next is sent."""
    futures = []
    for request in requests:
        futures.append(server.client.prediction.Predict.future(request, timeout=timeout))
        if in_order:
            wait_until(
                lambda: sum(f.done() for f in futures) + queue_length(server) == len(futures),
                "a request is neither answered nor in a queue",
            )
    return futures


def metrics(server):
    return server.http("GET", "/monitoring/prometheus/metrics")[2].decode()


def queue_length(server):
    """Requests that wait for their batch to begin, of all models."""
    prefix = ":tessera:serving:queue_length{"
    lines = [line for line in metrics(server).splitlines() if line.startswith(prefix)]
    return sum(int(line.split()[-1]) for line in lines)


def occupy(server):
    """Sends a request that runs until the gate is opened; returns it once it runs.

    Keep what is returned: gRPC cancels calls that nobody refers to.
    """
    before = runs_begun(server)
    future = server.client.prediction.Predict.future(held(), timeout=60)
    wait_until(lambda: runs_begun(server) > before, "the request does not run")
    return future


def runs_begun(server):
    for line in metrics(server).splitlines():
        if line.startswith(":tensorflow:core:direct_session_runs{}"):
            return int(line.split()[1])
    return 0


def await_refusals(futures, count):
    """Returns once so many were refused with UNAVAILABLE; the others then, and the texts."""
    wait_until(lambda: sum(f.done() for f in futures) >= count, f"not {count} were refused")
    refusals = [future for future in futures if future.done()]
    for future in refusals:
        assert future.exception().code() == grpc.StatusCode.UNAVAILABLE
    texts = {future.exception().details() for future in refusals}
    return [future for future in futures if future not in refusals], texts


def rows(future):
    """How many rows the run had, as each row of the answer tells."""
    return array(future.result().outputs["rows"]).tolist()


def values(future, name="y"):
    return array(future.result().outputs[name]).tolist()
