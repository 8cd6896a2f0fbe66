"""Servers for the client tests.

`serving` is one server for all tests that only ask: model `m` is half_plus_two (y = x/2 + 2) with
the label `stable`, model `digits` is the digits classifier in both versions, labelled `stable` (1)
and `canary` (2). After each test it must still run, ready, and answer rightly over gRPC and REST.
"""

import contextlib
import json
import shutil

import pytest

from clients.batching_client import Gate, parameters
from clients.client import Client
from clients.server import DATA, Model, Server

HALF_PLUS_TWO = DATA / "tfserving" / "half_plus_two"
DIGITS = DATA / "digits"


def assert_serves(server, client):
    """A good request still gets the right answer over both protocols."""
    assert server.is_running(), server.log()
    assert client.half_plus_two([1.0, 2.0]) == [2.5, 3.0]
    status, _, body = server.http("POST", "/v1/models/m:predict", b'{"instances": [4.0]}')
    assert (status, json.loads(body)) == (200, {"predictions": [4.0]})


@pytest.fixture(scope="session", name="session_server")
def _session_server():
    models = [
        Model("m", HALF_PLUS_TWO, labels={"stable": 123}),
        Model("digits", DIGITS, versions=[1, 2], labels={"stable": 1, "canary": 2}),
    ]
    with Server(
        "--allow_version_labels_for_unavailable_models",
        "--enable_grpc_healthcheck_service",
        models=models,
    ) as server:
        yield server


@pytest.fixture(scope="session", name="session_client")
def _session_client(session_server):
    with Client(session_server) as client:
        yield client


@pytest.fixture
def serving(session_server, session_client):
    yield session_server
    assert_serves(session_server, session_client)


@pytest.fixture
def client(serving, session_client):  # pylint: disable=unused-argument
    return session_client


@pytest.fixture(scope="session")
def samples():
    """Digits of the test part: images, and the labels that are right."""
    recorded = json.loads((DIGITS / "samples.json").read_text(encoding="utf-8"))
    return recorded["instances"], recorded["labels"]


@pytest.fixture
def half_plus_two_copy(tmp_path):
    """A folder of versions that a test may spoil, holding version 123."""
    folder = tmp_path / "half_plus_two"
    shutil.copytree(HALF_PLUS_TWO, folder)
    return folder


@pytest.fixture(scope="session", name="session_gate")
def _session_gate(tmp_path_factory):
    return Gate(tmp_path_factory.mktemp("gate"))


@pytest.fixture(scope="session")
def look_model(tmp_path_factory, session_gate):
    """Signatures of batching_model.py, in version 1."""
    from clients import batching_model  # imports TensorFlow, which takes a while

    folder = tmp_path_factory.mktemp("look")
    batching_model.save(folder, session_gate)
    return Model("look", folder)


@pytest.fixture
def gate(session_gate):
    """Shut, until it is opened or the test ends."""
    session_gate.shut()
    yield session_gate
    session_gate.open()


@pytest.fixture
def start_batching(look_model, tmp_path):
    """start_batching(flags..., field=value...) -> server with a client as `server.client`."""
    monitoring = tmp_path / "monitoring.config"
    monitoring.write_text("prometheus_config { enable: true }", encoding="utf-8")
    with contextlib.ExitStack() as stack:

        def start(*flags, models=None, **fields):
            file = tmp_path / "batching.config"
            if fields:
                file.write_text(parameters(**fields), encoding="utf-8")
                flags = (f"--batching_parameters_file={file}",) + flags
            server = stack.enter_context(
                Server(
                    "--enable_batching",
                    f"--monitoring_config_file={monitoring}",
                    *flags,
                    models=models or [look_model, Model("half", HALF_PLUS_TWO)],
                )
            )
            server.client = stack.enter_context(Client(server))
            return server

        yield start
