"""New versions are pushed to a real server while clients ask it: a good one goes through all of its
steps, and a bad one of each kind is taken back and never tried again."""

import collections
import datetime
import json
import re
import threading
import time

import grpc
import numpy as np
import pytest

from clients.client import Client, array, predict_request
from clients.server import Server
from rollouts import rollout_models
from rollouts.version_folders import push, tear

BAD = ("errors", "renamed", "slow", "nan", "wrong", "torn")
MODELS = ("good",) + BAD
SECONDS = 240
WINDOW_SECONDS = 60
X = [1.0, 2.0, 3.0]
Y = [3.0, 5.0, 7.0]

# Latencies are judged for the one model whose candidate is slow, for machines that run tests have
# much else to do. `slow` is four times as slow.
CONFIG = """
file_system_poll_wait_seconds: 1
version_settle_seconds: 0
monitoring: {{prometheus_config: {{enable: true, path: /metrics}}}}
rollout_state_file: {state}
models:
"""
GOOD_MODEL = """
  - name: good
    base_path: {base_path}
    rollout:
      steps:
        - {{share_percent: 1, duration_seconds: 0.2}}
        - {{share_percent: 10, duration_seconds: 0.2}}
        - {{share_percent: 100, duration_seconds: 0.2}}
      conditions: {{min_requests: 5, max_p99_ratio: 1000}}
"""
BAD_MODEL = """
  - name: {name}
    base_path: {base_path}
    rollout:
      steps: [{{share_percent: 20, duration_seconds: 1000}}]
      mirror_percent: {mirror}
      conditions: {{min_requests: 20, window_seconds: {window}, {limit}}}
"""
LIMITS = {"slow": "max_p50_ratio: 2, max_p99_ratio: 1000"}
OTHER_LIMITS = "max_p99_ratio: 1000"
WRONG_LIMITS = OTHER_LIMITS + ", max_mean_abs_difference: 0.5"


class Asking(threading.Thread):
    """A client of one model: most requests name no version, over gRPC and some over REST, and some
    name the label `stable`. It leaves the server time: what keeps all cores busy keeps background
    work, such as mirrored requests, from them."""

    PAUSE_SECONDS = 0.002

    def __init__(self, server, model):
        super().__init__()
        self._server = server
        self._model = model
        self._stopping = threading.Event()
        self.versions = []  # that answered, in order
        self.answers = {}  # the last one of each version
        self.failures = []  # of requests without a label
        self.stable_failures = []

    def run(self):
        inputs = {"x": np.array(X, np.float32)}
        plain = predict_request(self._model, inputs)
        stable = predict_request(self._model, inputs, label="stable")
        with Client(self._server) as client:
            count = 0
            while not self._stopping.wait(self.PAUSE_SECONDS):
                count += 1
                is_plain = count % 5 != 0
                if count % 5 == 1:
                    self._ask_by_rest()
                    continue
                try:
                    reply = client.predict(plain if is_plain else stable)
                except grpc.RpcError as error:
                    (self.failures if is_plain else self.stable_failures).append(error.details())
                    continue
                version = reply.model_spec.version.value
                if is_plain:
                    self.versions.append(version)
                self.answers[version] = array(reply.outputs["y"]).tolist()

    def _ask_by_rest(self):
        body = json.dumps({"instances": X}).encode()
        status, _, reply = self._server.http("POST", f"/v1/models/{self._model}:predict", body)
        if status != 200:
            self.failures.append(reply.decode())

    def stop(self):
        self._stopping.set()
        self.join()


def decisions(server):
    """{(model, decision): how often}."""
    status, _, page = server.http("GET", "/metrics")
    assert status == 200
    pattern = r':tessera:serving:rollout_decisions\{model_name="(\w+)",decision="(\w+)"\} (\d+)'
    return {(model, kind): int(n) for model, kind, n in re.findall(pattern, page.decode())}


def wait_until(server, condition):
    """Waits until condition(decisions) is true."""
    deadline = time.monotonic() + SECONDS
    while not condition(decisions(server)):
        assert time.monotonic() < deadline, f"{decisions(server)}\n{server.log(200)}"
        assert server.is_running(), server.log()
        time.sleep(0.05)


@pytest.fixture(scope="module", name="versions")
def _versions(tmp_path_factory):
    """The folders of saved versions, by kind."""
    folder = tmp_path_factory.mktemp("versions")
    for kind in rollout_models.KINDS:
        rollout_models.save(folder / kind, kind)
    rollout_models.save(folder / "torn", "good")
    tear(folder / "torn")
    return folder


def seconds_tried(log, model):
    """The time from when version 2 got its share to when it was rolled back, by the server's log."""
    times = []
    for decision in ("step", "rolled_back"):
        (line,) = re.findall(rf"^.*model '{model}': version 2 {decision}, .*$", log, re.MULTILINE)
        times.append(datetime.datetime.fromisoformat(line.split(" I ")[0]))
    return (times[1] - times[0]).total_seconds()


def write_config(folder):
    text = CONFIG.format(state=folder / "state.json")
    text += GOOD_MODEL.format(base_path=folder / "good")
    for name in BAD:
        limit = WRONG_LIMITS if name == "wrong" else LIMITS.get(name, OTHER_LIMITS)
        text += BAD_MODEL.format(
            name=name,
            base_path=folder / name,
            mirror=100 if name == "wrong" else 0,
            limit=limit,
            window=WINDOW_SECONDS,
        )
    path = folder / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_good_versions_are_promoted_and_bad_ones_taken_back_for_good(versions, tmp_path):
    for model in MODELS:
        push(versions / "good", tmp_path / model, 1)
    config = write_config(tmp_path)
    with Server(f"--config={config}") as server:
        asking = {model: Asking(server, model) for model in MODELS}
        for thread in asking.values():
            thread.start()
        try:
            for model in MODELS:
                push(versions / model, tmp_path / model, 2)
            wait_until(
                server,
                lambda made: made.get(("good", "promoted")) == 2
                and all(made.get((model, "rolled_back")) for model in BAD),
            )
        finally:
            for thread in asking.values():
                thread.stop()
        made = decisions(server)
        log = server.log(1000)
        with Client(server) as client:
            states = {model: client.version_states(model) for model in MODELS}

    # The good version went through its steps, and nobody noticed but by better answers.
    good = asking["good"]
    assert good.failures == [] and good.stable_failures == []
    assert good.answers == {1: Y, 2: Y}
    assert good.versions[0] == 1 and good.versions[-1] == 2
    assert made[("good", "step")] == 3
    shares = re.findall(r"model 'good': version 2 step.* share (\d+) %", log)
    assert shares == ["1", "10", "100"]
    assert {version: state[0] for version, state in states["good"].items()} == {
        1: "AVAILABLE",  # kept for a rollback
        2: "AVAILABLE",
    }
    for model in BAD:
        assert made[(model, "rolled_back")] == 1, model
        assert made[(model, "held")] == 0 and made[(model, "promoted")] == 1, model
        assert asking[model].stable_failures == [], model
        assert states[model][1][0] == "AVAILABLE", model
        # Whoever asked the candidate got the answer of the stable version instead of an error.
        assert asking[model].failures == [], model
        assert asking[model].answers[1] == Y
    reasons = dict(re.findall(r"model '(\w+)': version 2 rolled_back, .*?%: (.*)", log))
    assert "error" in reasons["errors"] and "error" in reasons["renamed"]
    assert "p50" in reasons["slow"]
    assert "NaN" in reasons["nan"]
    assert "answers differ" in reasons["wrong"]
    assert "was not loaded" in reasons["torn"]
    # Those that their own requests give away are taken back within the window of the conditions.
    for model in ("errors", "renamed", "slow", "nan"):
        assert seconds_tried(log, model) < WINDOW_SECONDS, model

    # Another process with the same files tries none of the bad versions again.
    saved = json.loads((tmp_path / "state.json").read_text(encoding="utf-8"))["models"]
    assert {model: saved[model]["rejected"][0]["version"] for model in BAD} == {
        model: "2" for model in BAD
    }
    with Server(f"--config={config}") as server, Client(server) as client:
        for model in BAD:
            reply = client.predict(predict_request(model, {"x": np.array(X, np.float32)}))
            assert reply.model_spec.version.value == 1, model
            assert list(client.version_states(model)) == [1], model
        reply = client.predict(predict_request("good", {"x": np.array(X, np.float32)}))
        assert reply.model_spec.version.value == 2
        assert not any(decisions(server).values())


def test_clients_with_a_key_stay_on_their_version(versions, tmp_path):
    push(versions / "good", tmp_path / "m", 1)
    config = tmp_path / "config.yaml"
    config.write_text(
        CONFIG.format(state=tmp_path / "state.json")
        + f"""
  - name: m
    base_path: {tmp_path / "m"}
    rollout:
      steps: [{{share_percent: 50, duration_seconds: 1000}}]
      conditions: {{max_p99_ratio: 1000}}
      sticky_key: X-User
""",
        encoding="utf-8",
    )
    with Server(f"--config={config}") as server, Client(server) as client:
        push(versions / "good", tmp_path / "m", 2)
        wait_until(server, lambda made: made.get(("m", "step")) == 1)
        request = predict_request("m", {"x": np.array(X, np.float32)})

        def version_of(user):
            reply = client.prediction.Predict(request, metadata=[("x-user", user)], timeout=60)
            return reply.model_spec.version.value

        users = [f"user{i}" for i in range(40)]
        versions_of_users = {user: version_of(user) for user in users}
        assert set(versions_of_users.values()) == {1, 2}
        for _ in range(3):
            assert {user: version_of(user) for user in users} == versions_of_users
        label = predict_request("m", {"x": np.array(X, np.float32)}, label="canary")
        assert client.predict(label).model_spec.version.value == 2
        # By REST, whose replies do not name a version: the counts of the metrics do.
        for protocol, path, body in REST_REQUESTS:
            for version in (1, 2):
                before = rest_requests(server)
                asked = [user for user in users if versions_of_users[user] == version]
                for user in asked:
                    status, _, reply = server.http("POST", path, body, {"X-USER": user})
                    assert status == 200, reply
                counted = rest_requests(server) - before
                assert counted == {str(version): len(asked)}, f"{protocol}: {counted}"


REST_REQUESTS = [
    ("v1", "/v1/models/m:predict", b'{"instances": [1.0]}'),
    (
        "v2",
        "/v2/models/m/infer",
        b'{"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}]}',
    ),
]


def rest_requests(server):
    """{version: how many requests by REST it has answered}."""
    _, _, page = server.http("GET", "/metrics")
    pattern = r':tessera:serving:request_count\{([^}]*protocol="rest"[^}]*)\} (\d+)'
    counts = collections.Counter()
    for labels, count in re.findall(pattern, page.decode()):
        counts[re.search(r'version="(\d+)"', labels)[1]] += int(count)
    return counts
