"""Steps that the tests of faults share."""

import shutil
import time

import numpy as np

from clients.client import array, predict_request


def wait_until(condition, what, seconds=60):
    """Returns what `condition` returns once that is true."""
    deadline = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        assert time.monotonic() < deadline, what() if callable(what) else what
        time.sleep(0.05)


def wait_for_state(client, model, version, state, seconds=60):
    """Waits until a version is in a state: (error code, message)."""
    seen = []

    def reached():
        seen[:] = client.version_states(model).get(version, ("not seen", 0, ""))
        return seen[0] == state

    wait_until(reached, lambda: f"version {version} of {model} is {seen}, not {state}", seconds)
    return seen[1], seen[2]


def publish(source, target):
    """Copies beside, then renames: a version appears as a whole."""
    hidden = target.parent / f"{target.name}.tmp"
    shutil.copytree(source, hidden)
    hidden.rename(target)


def ask_sum(client, x, **spec):
    """y of a model of save_sum_model() named `sum`."""
    request = predict_request("sum", {"x": np.float32(x)}, **spec)
    return float(array(client.predict(request).outputs["y"]))
