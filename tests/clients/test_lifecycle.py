"""Starting and stopping: flags, exit codes, signals."""

import socket
import subprocess

import pytest

from clients.client import Client
from clients.conftest import HALF_PLUS_TWO, assert_serves
from clients.server import Model, Server, StartError, binary, free_port

M = Model("m", HALF_PLUS_TWO)


def run(*flags):
    return subprocess.run(
        [binary(), "serve", *flags],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_sigterm_ends_an_idle_server_with_zero():
    with Server(models=[M]) as server, Client(server) as client:
        assert_serves(server, client)
        assert server.stop() == 0


def test_sigterm_ends_a_server_with_open_connections_with_zero():
    with Server(models=[M]) as server, Client(server) as client:
        assert_serves(server, client)  # the channel stays connected
        with socket.create_connection(("127.0.0.1", server.rest_port)):
            assert server.stop() == 0


def test_model_from_flags_instead_of_a_file():
    with Server("--model_name=m", f"--model_base_path={HALF_PLUS_TWO}") as server, Client(
        server
    ) as client:
        assert_serves(server, client)


def test_the_name_of_the_binary_it_replaces(tmp_path):
    link = tmp_path / "tensorflow_model_server"
    link.symlink_to(binary().resolve())
    with Server(
        "--model_name=m", f"--model_base_path={HALF_PLUS_TWO}", program=[str(link)]
    ) as server, Client(server) as client:
        assert_serves(server, client)


def test_unknown_arguments_do_not_stop_it():
    with Server("--no_such_flag=1", "stray", models=[M]) as server, Client(server) as client:
        assert_serves(server, client)


@pytest.mark.parametrize(
    "flags",
    [
        ("--port=abc",),
        ("--port=1.5",),
        ("--port=",),
        ("--port=99999999999",),
        ("--enable_batching=maybe",),
        ("--file_system_poll_wait_seconds=1s",),
    ],
)
def test_a_value_that_does_not_fit_its_flag(flags):
    ended = run(f"--model_base_path={HALF_PLUS_TWO}", *flags)
    assert ended.returncode == 255
    assert flags[0].split("=")[0].strip("-") in ended.stderr


def test_version_is_printed():
    ended = run("--version")
    assert ended.returncode == 0
    assert ended.stdout.strip()


@pytest.mark.parametrize(
    "config",
    [
        "model_config_list {",
        "nonsense: 1",
        'model_config_list { config { name: "a" } }',
        'model_config_list { config { name: "a" base_path: "/x" model_platform: "caffe" } }',
        'model_config_list { config { name: "a" base_path: "x" model_platform: "tensorflow" } }',
        'model_config_list { config { name: "a" base_path: "/x" model_platform: "tensorflow" } '
        'config { name: "a" base_path: "/y" model_platform: "tensorflow" } }',
        "",
    ],
    ids=[
        "unclosed",
        "unknown_field",
        "no_path",
        "platform",
        "relative_path",
        "twice",
        "empty_file",
    ],
)
def test_a_configuration_that_is_refused(tmp_path, config):
    path = tmp_path / "models.config"
    path.write_text(config, encoding="utf-8")
    assert run(f"--model_config_file={path}", f"--port={free_port()}").returncode == 255


def test_a_configuration_that_is_not_there(tmp_path):
    assert run(f"--model_config_file={tmp_path / 'absent'}").returncode == 255
    assert run().returncode == 255


def test_a_port_that_is_taken():
    with socket.create_server(("0.0.0.0", free_port())) as listener:
        with pytest.raises(StartError) as error:
            # Stopped again should it start after all.
            with Server(f"--port={listener.getsockname()[1]}", models=[M]):
                pass
    assert "ended with code 255" in str(error.value)
