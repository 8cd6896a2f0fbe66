"""Versions that are broken, half copied, removed and repaired while a server runs, and reloads beside
them. Each is at least as good as with TensorFlow Serving; where that would be worse, a comment says
how. Starts are in test_starts.py.
"""

import contextlib
import shutil
import threading

import pytest

from clients.client import Client, refused
from clients.conftest import HALF_PLUS_TWO, assert_serves
from clients.fault_steps import publish, wait_for_state, wait_until
from clients.server import Model, Server, StartError, config_text
from clients.test_starts import (
    VERSION,
    break_by_a_missing_kernel,
    break_by_emptiness,
    copy_in_place,
    finish,
    wait_for_line,
)


def break_by_half_a_graph(version):
    shutil.copytree(VERSION, version)
    graph = version / "saved_model.pb"
    graph.write_bytes(graph.read_bytes()[:1000])
    finish(version)


def break_by_lost_variables(version):
    shutil.copytree(VERSION, version)
    shutil.rmtree(version / "variables")
    finish(version)


@contextlib.contextmanager
def never_failing(client):
    """Asks model `m` all the time; no request of the block may fail."""
    stop, failures = threading.Event(), []

    def ask():
        while not stop.is_set() and not failures:
            try:
                assert client.half_plus_two([2.0]) == [3.0]
            except Exception as error:  # pylint: disable=broad-except
                failures.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert not failures


@pytest.fixture(name="folder")
def _folder(tmp_path):
    """Version 1 of half_plus_two."""
    folder = tmp_path / "m"
    shutil.copytree(VERSION, folder / "1")
    finish(folder / "1")
    return folder


class Reloadable(Server):
    """A server that reads its models from a file each second."""

    def __init__(self, folder, *models):
        self._config = folder / "models.config"
        self.configure(*models)
        super().__init__(
            f"--model_config_file={self._config}", "--model_config_file_poll_wait_seconds=1"
        )

    def configure(self, *models):
        new = self._config.with_suffix(".new")
        new.write_text(config_text(models), encoding="utf-8")
        new.rename(self._config)


def test_a_half_copied_version_waits_beside_the_one_that_serves(folder):
    with Server(
        "--version_settle_seconds=10", models=[Model("m", folder)]
    ) as server, Client(server) as client:
        with never_failing(client):
            copy_in_place(VERSION, folder / "2")
            graph = folder / "2" / "saved_model.pb"
            whole = graph.read_bytes()
            # Written now and then, through several looks of the server.
            for part in range(1, 6):
                graph.write_bytes(whole[: part * 1000])
                threading.Event().wait(0.6)
            # TensorFlow Serving has tried it at once, and not again: version 2 is in error for good.
            assert 2 not in client.version_states("m")
            graph.write_bytes(whole)
            wait_for_state(client, "m", 2, "AVAILABLE")
            wait_for_state(client, "m", 1, "END")
        assert "failed" not in server.log(1000)


@pytest.mark.parametrize(
    "spoil",
    [
        break_by_emptiness,
        break_by_half_a_graph,
        # TensorFlow Serving takes it, and each request fails from then on.
        break_by_lost_variables,
        break_by_a_missing_kernel,
    ],
)
def test_a_broken_version_that_is_repaired_in_place_is_loaded(folder, spoil):
    with Server(models=[Model("m", folder)]) as server, Client(server) as client:
        with never_failing(client):
            spoil(folder / "2")
            wait_for_state(client, "m", 2, "END")
            assert client.version_states("m")[1][0] == "AVAILABLE"
            # TensorFlow Serving does not look at it again.
            copy_in_place(VERSION, folder / "2")
            wait_for_state(client, "m", 2, "AVAILABLE")
            wait_for_state(client, "m", 1, "END")


def test_a_broken_version_that_is_taken_away_and_put_back_whole_is_loaded(folder, tmp_path):
    with Server(models=[Model("m", folder)]) as server, Client(server) as client:
        with never_failing(client):
            break_by_half_a_graph(folder / "2")
            wait_for_state(client, "m", 2, "END")
            (folder / "2").rename(tmp_path / "broken")
            wait_until(lambda: client.version_states("m")[1][0] == "AVAILABLE", server.log)
            # With TensorFlow Serving version 1 is asked for anew and waits for its own end.
            publish(VERSION, folder / "2")
            wait_for_state(client, "m", 2, "AVAILABLE")


def test_a_better_version_above_a_broken_one_is_loaded(folder):
    with Server(models=[Model("m", folder)]) as server, Client(server) as client:
        with never_failing(client):
            break_by_half_a_graph(folder / "2")
            wait_for_state(client, "m", 2, "END")
            publish(VERSION, folder / "3")
            wait_for_state(client, "m", 3, "AVAILABLE")
            wait_for_state(client, "m", 1, "END")


def test_the_newest_version_that_is_taken_away_gives_way_to_the_older_one(folder):
    publish(VERSION, folder / "2")
    with Server(models=[Model("m", folder)]) as server, Client(server) as client:
        with never_failing(client):
            shutil.rmtree(folder / "2")
            wait_for_state(client, "m", 1, "AVAILABLE")
            wait_for_state(client, "m", 2, "END")
        assert_serves(server, client)


def test_a_way_back_to_a_broken_version_leaves_the_newer_one_serving(folder, tmp_path):
    shutil.rmtree(folder / "1")
    break_by_half_a_graph(folder / "1")
    publish(VERSION, folder / "2")
    with Reloadable(tmp_path, Model("m", folder)) as server, Client(server) as client:
        with never_failing(client):
            server.configure(Model("m", folder, versions=[1]))
            wait_for_state(client, "m", 1, "END")
            assert client.version_states("m")[2][0] == "AVAILABLE"
            copy_in_place(VERSION, folder / "1")
            wait_for_state(client, "m", 1, "AVAILABLE")
            wait_for_state(client, "m", 2, "END")


def test_a_new_base_path_with_a_broken_version_leaves_the_old_one_serving(folder, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    break_by_half_a_graph(elsewhere / "7")
    with Reloadable(tmp_path, Model("m", folder)) as server, Client(server) as client:
        with never_failing(client):
            server.configure(Model("m", elsewhere))
            wait_for_state(client, "m", 7, "END")
            assert client.version_states("m")[1][0] == "AVAILABLE"
            publish(VERSION, elsewhere / "8")
            wait_for_state(client, "m", 8, "AVAILABLE")
            wait_for_state(client, "m", 1, "END")


def test_a_missing_base_path_of_one_model_holds_up_no_other(folder, tmp_path):
    missing = Model("missing", tmp_path / "missing")
    with Reloadable(tmp_path, Model("m", folder)) as server, Client(server) as client:
        server.configure(Model("m", folder), missing)
        wait_for_line(server, "missing")
        # TensorFlow Serving updates no model while a base path is missing.
        publish(VERSION, folder / "2")
        wait_for_state(client, "m", 2, "AVAILABLE")
        with refused("NOT_FOUND"):
            client.version_states("missing")
        publish(HALF_PLUS_TWO, tmp_path / "missing")
        wait_until(
            lambda: server.http("GET", "/v1/models/missing/versions/123")[0] == 200, server.log
        )


@pytest.mark.parametrize("policy", ["all {}", "latest { num_versions: 2 }"])
def test_a_broken_lower_version_does_not_stop_a_start(folder, tmp_path, policy):
    shutil.rmtree(folder / "1")
    break_by_half_a_graph(folder / "1")
    publish(VERSION, folder / "2")
    config = tmp_path / "models.config"
    text = config_text([Model("m", folder)])
    config.write_text(
        text.replace("} }", f"model_version_policy {{ {policy} }} }} }}"), encoding="utf-8"
    )
    with Server(f"--model_config_file={config}") as server, Client(server) as client:
        assert_serves(server, client)
        assert wait_for_state(client, "m", 1, "END")[0] != 0


def test_a_broken_highest_version_stops_a_start_as_upstream(folder):
    break_by_half_a_graph(folder / "2")
    with pytest.raises(StartError) as error:
        with Server(models=[Model("m", folder)], ready_timeout=60):
            pass
    assert "ended with code 255" in str(error.value)
    assert "name: m version: 2" in str(error.value)


def test_a_version_that_is_named_is_waited_for_until_it_is_whole(folder):
    copy_in_place(VERSION, folder / "2")
    graph = folder / "2" / "saved_model.pb"
    whole = graph.read_bytes()
    graph.write_bytes(whole[:1000])
    repair = threading.Timer(3, graph.write_bytes, [whole])
    repair.start()
    try:
        with Server(
            "--version_settle_seconds=10", models=[Model("m", folder, versions=[2])]
        ) as server, Client(server) as client:
            assert list(client.version_states("m")) == [2]
            assert_serves(server, client)
    finally:
        repair.join()
