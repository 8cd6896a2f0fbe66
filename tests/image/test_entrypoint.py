"""The binary under the name of the entry point, without a container."""

import pytest

from clients.client import Client
from clients.conftest import HALF_PLUS_TWO
from clients.server import Server, binary
from image.places import ENTRYPOINT


@pytest.fixture(name="entrypoint")
def _entrypoint(tmp_path):
    link = tmp_path / ENTRYPOINT.rsplit("/", maxsplit=1)[-1]
    link.symlink_to(binary())
    return link


def test_it_serves_the_model_that_the_environment_names(entrypoint, monkeypatch, tmp_path):
    (tmp_path / "m").symlink_to(HALF_PLUS_TWO)
    monkeypatch.setenv("MODEL_NAME", "m")
    monkeypatch.setenv("MODEL_BASE_PATH", str(tmp_path))
    with Server(program=[str(entrypoint)]) as server, Client(server) as client:
        assert client.half_plus_two([2.0]) == [3.0]
    assert server.exit_code == 0
