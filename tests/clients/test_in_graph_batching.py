"""BatchFunction: a graph that joins the rows of several requests, served without --enable_batching."""

import signal
from concurrent.futures import ThreadPoolExecutor

import grpc
import numpy as np
import pytest

from clients.client import Client, array, predict_request, refused
from clients.conftest import HALF_PLUS_TWO
from clients.fault_steps import wait_for_state, wait_until
from clients.in_graph_batching_model import WEIGHTS, save_in_graph_batching_model
from clients.server import Model, Server, config_text


@pytest.fixture(scope="module", name="base")
def _base(tmp_path_factory):
    base = tmp_path_factory.mktemp("in_graph_batching")
    save_in_graph_batching_model(base / "1")
    return base


@pytest.fixture(scope="module", name="server")
def _server(base):
    with Server(models=[Model("m", base)]) as server:
        yield server


@pytest.fixture(name="client")
def _client(server):
    with Client(server) as client:
        yield client
        # Whatever happened, the next request is answered.
        assert outputs(client.predict(request("padded", [[1.0, 1.0]])))[0] == [[5.0, 7.0]]


def request(signature, x):
    return predict_request("m", {"x": np.asarray(x, np.float32)}, signature=signature)


def outputs(response):
    return array(response.outputs["y"]).tolist(), array(response.outputs["rows"]).tolist()


def expected(x):
    return (np.asarray(x, np.float32) @ np.asarray(WEIGHTS, np.float32) + 1).tolist()


def test_requests_that_come_together_run_together(client):
    inputs = [[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]], [[7.0, 8.0]]]
    with ThreadPoolExecutor(len(inputs)) as pool:
        responses = list(pool.map(lambda x: client.predict(request("joined", x)), inputs))
    for x, response in zip(inputs, responses):
        assert outputs(response) == (expected(x), [4] * len(x)), "one run had the rows of all"


def test_many_requests_get_their_own_rows(client):
    def ask(i):
        x = [[float(i), float(j)] for j in range(1 + i % 2)]
        y, rows = outputs(client.predict(request("padded", x)))
        assert y == expected(x) and set(rows) <= {2, 4}

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(200)))


def test_batches_are_padded_to_allowed_sizes(client):
    for x, size in ([[1.0, 2.0]], 2), ([[1.0, 2.0]] * 3, 4), ([[1.0, 2.0]] * 4, 4):
        assert outputs(client.predict(request("padded", x))) == (expected(x), [size] * len(x))
    assert outputs(client.predict(request("padded", np.zeros((0, 2))))) == ([], [])


def test_large_tasks_are_split(client):
    x = [[float(i), 1.0] for i in range(5)]
    assert outputs(client.predict(request("split", x))) == (expected(x), [2] * 5)
    with refused("INVALID_ARGUMENT", "Task size 9 is larger than maximum input batch size 8"):
        client.predict(request("split", np.zeros((9, 2))))
    with refused("INVALID_ARGUMENT", "Task size 5 is larger than maximum input batch size 4"):
        client.predict(request("padded", np.zeros((5, 2))))


def test_first_dimensions_must_agree(client):
    def pair(a, b):
        return predict_request(
            "m", {"a": np.float32(a), "b": np.float32(b)}, signature="pair"
        )

    assert array(client.predict(pair([1, 2], [3, 4])).outputs["y"]).tolist() == [4.0, 6.0]
    with refused("INVALID_ARGUMENT", "must have equal 0th-dimension size"):
        client.predict(pair([1, 2], [3]))


def test_a_request_that_ends_while_it_waits_leaves_its_batch(client):
    with pytest.raises(grpc.RpcError) as failure:
        client.prediction.Predict(request("joined", [[1.0, 2.0]]), timeout=0.2)
    assert failure.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    waiting = client.prediction.Predict.future(request("joined", [[1.0, 2.0]]))
    waiting.cancel()
    x = [[3.0, 4.0]] * 4
    assert outputs(client.predict(request("joined", x))) == (expected(x), [4] * 4)


def test_a_full_queue_refuses(client):
    calls = [client.prediction.Predict.future(request("full", [[1.0, 2.0]] * 3)) for _ in range(3)]
    wait_until(lambda: any(call.done() for call in calls), "nobody was refused")
    refusals = [call for call in calls if call.done()]
    assert refusals[0].code() == grpc.StatusCode.UNAVAILABLE
    assert "max_enqueued_batches" in refusals[0].details()
    for call in calls:
        call.cancel()


def test_a_version_is_unloaded_once_the_requests_that_wait_have_ended(base, tmp_path):
    config = tmp_path / "models.config"
    config.write_text(config_text([Model("m", base), Model("n", HALF_PLUS_TWO)]), encoding="utf-8")
    with Server(f"--model_config_file={config}") as server, Client(server) as client:
        waiting = client.prediction.Predict.future(request("joined", [[1.0, 2.0]]), timeout=3)
        client.predict(request("padded", [[1.0, 2.0]]))
        config.write_text(config_text([Model("n", HALF_PLUS_TWO)]), encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        assert waiting.exception(timeout=30).code() == grpc.StatusCode.DEADLINE_EXCEEDED
        wait_for_state(client, "m", 1, "END")
        with refused("NOT_FOUND"):
            client.predict(request("padded", [[1.0, 2.0]]))


def test_a_server_that_ends_does_not_wait_for_batches(base):
    with Server("--shutdown_grace_seconds=1", models=[Model("m", base)]) as server:
        with Client(server) as client:
            waiting = client.prediction.Predict.future(request("joined", [[1.0, 2.0]]))
            client.predict(request("padded", [[1.0, 2.0]]))
            assert server.stop() == 0
            assert waiting.exception(timeout=30).code() in (
                grpc.StatusCode.UNAVAILABLE,
                grpc.StatusCode.CANCELLED,
            )
