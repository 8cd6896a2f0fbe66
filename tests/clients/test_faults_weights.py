"""Files of a version that is being served, overwritten and cut in place: its answers stay right."""

import threading

import pytest

from clients.client import Client
from clients.fault_steps import ask_sum, publish, wait_for_state
from clients.made_models import save_sum_model
from clients.server import Model, Server

FLOATS = 1 << 20
DATA = "variables/variables.data-00000-of-00001"


@pytest.fixture(scope="module", name="made")
def _made(tmp_path_factory):
    """Versions whose weights are ones and twos."""
    root = tmp_path_factory.mktemp("made")
    return {value: save_sum_model(root / str(value), value, FLOATS) for value in (1, 2)}


@pytest.fixture(name="serving")
def _serving(made, tmp_path):
    """A server with the weights of ones as version 1: (server, client, base path)."""
    folder = tmp_path / "sum"
    folder.mkdir()
    publish(made[1], folder / "1")
    with Server(models=[Model("sum", folder)]) as server, Client(server) as client:
        assert ask_sum(client, 3) == 3 * FLOATS
        yield server, client, folder
        assert server.is_running(), server.log()


class Asking:
    """A client that asks without pause; every answer must be that of the ones."""

    def __init__(self, server):
        self.wrong = []
        self.count = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._ask, args=(server,))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _ask(self, server):
        with Client(server) as client:
            while not self._stop.is_set():
                answer = ask_sum(client, 1)
                self.count += 1
                if answer != FLOATS:
                    self.wrong.append(answer)


def overwrite(path, data):
    with open(path, "r+b") as file:
        file.write(data)


def truncate(path):
    with open(path, "r+b") as file:
        file.truncate(1000)


@pytest.mark.parametrize("how", ["overwritten", "truncated", "written anew"])
def test_weights_in_use_change_in_place(serving, made, how):
    server, client, folder = serving
    path = folder / "1" / DATA
    twos = (made[2] / DATA).read_bytes()
    with Asking(server) as asking:
        if how == "overwritten":
            overwrite(path, twos)
        elif how == "truncated":
            truncate(path)
        else:
            path.write_bytes(twos)
        before = asking.count
        while asking.count < before + 20:
            assert server.is_running(), server.log()
    assert asking.wrong == []
    assert client.version_states("sum") == {1: ("AVAILABLE", 0, "")}

    publish(made[2], folder / "2")
    wait_for_state(client, "sum", 2, "AVAILABLE")
    assert ask_sum(client, 1) == 2 * FLOATS


def test_deleted_and_replaced_files_leave_what_is_served(serving, made):
    server, client, folder = serving
    (folder / "1" / DATA).unlink()
    assert ask_sum(client, 1) == FLOATS
    (folder / "1" / DATA).write_bytes((made[2] / DATA).read_bytes())
    with Asking(server) as asking:
        while asking.count < 20:
            assert server.is_running(), server.log()
    assert asking.wrong == []


def test_an_overwrite_is_told_of(serving, made):
    server, client, folder = serving
    overwrite(folder / "1" / DATA, (made[2] / DATA).read_bytes())
    publish(made[2], folder / "2")
    wait_for_state(client, "sum", 2, "AVAILABLE")
    assert "is about to be written while it is in use" in server.log(1000)
