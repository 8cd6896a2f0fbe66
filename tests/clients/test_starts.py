"""Starts beside broken, older, half-copied and just-copied versions, and what a start tells."""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading

import pytest

from clients.client import Client
from clients.conftest import DIGITS, HALF_PLUS_TWO, assert_serves
from clients.server import Model, Server, StartError, binary, config_text, environment, free_port
from clients.test_bad_models import ops_without_a_kernel

VERSION = HALF_PLUS_TWO / "00000123"
# Longer than a test waits: what depends on it shows as a time-out.
NEVER = "--version_settle_seconds=100000"


def copy_in_place(source, target):
    """Copies as `cp -r` does: nothing tells that the last file was the last one."""
    for path in sorted(source.rglob("*")):
        place = target / path.relative_to(source)
        if path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())


def finish(version):
    """Makes a version complete at once, as tools do which set the times of a folder last."""
    newest = max((path.lstat().st_ctime_ns for path in version.rglob("*")), default=0)
    os.utime(version, (0, 0))
    while version.stat().st_ctime_ns <= newest:  # until the file system's clock has ticked
        os.utime(version, (0, 0))


def wait_for_line(server, text):
    event = threading.Event()
    for _ in range(600):
        if text in server.log(1000):
            return
        event.wait(0.05)
    raise AssertionError(f"no '{text}' in:\n{server.log()}")


@pytest.fixture(name="folder")
def _folder(tmp_path):
    folder = tmp_path / "m"
    folder.mkdir()
    return folder


def break_by_emptiness(version):
    version.mkdir()
    finish(version)


def break_by_a_lost_graph(version):
    shutil.copytree(VERSION, version)
    (version / "saved_model.pb").unlink()
    finish(version)


def break_by_a_missing_kernel(version):
    shutil.copytree(VERSION, version)
    ops_without_a_kernel(version)
    finish(version)


BREAKS = [break_by_emptiness, break_by_a_lost_graph, break_by_a_missing_kernel]


@pytest.mark.parametrize("spoil", BREAKS)
@pytest.mark.parametrize("policy", ["", "all {}", "latest { num_versions: 2 }"])
def test_a_repair_copied_just_before_the_start_is_served(folder, tmp_path, spoil, policy):
    spoil(folder / "1")
    copy_in_place(VERSION, folder / "2")
    config = tmp_path / "models.config"
    text = config_text([Model("m", folder)])
    if policy:
        text = text.replace("} }", f"model_version_policy {{ {policy} }} }} }}")
    config.write_text(text, encoding="utf-8")
    with Server(f"--model_config_file={config}") as server, Client(server) as client:
        assert client.version_states("m")[2][0] == "AVAILABLE"
        assert_serves(server, client)


def test_an_older_version_is_not_loaded_for_the_time_of_a_copy(folder):
    shutil.copytree(VERSION, folder / "1")
    finish(folder / "1")
    copy_in_place(VERSION, folder / "2")
    with Server(models=[Model("m", folder)]) as server, Client(server) as client:
        assert list(client.version_states("m")) == [2]
        assert_serves(server, client)


def test_a_version_that_is_still_being_copied_is_waited_for(folder):
    break_by_a_lost_graph(folder / "1")
    data = (VERSION / "saved_model.pb").read_bytes()
    copy_in_place(VERSION, folder / "2")
    graph = folder / "2" / "saved_model.pb"
    graph.write_bytes(data[:1000])
    done = threading.Event()

    def go_on():
        # Each write restarts the time for which the folder must be quiet.
        for _ in range(30):
            graph.write_bytes(data[:1000])
            done.wait(0.1)
        graph.write_bytes(data)

    copy = threading.Thread(target=go_on)
    copy.start()
    try:
        with Server(models=[Model("m", folder)]) as server, Client(server) as client:
            assert_serves(server, client)
            assert "failed" not in server.log(1000)
    finally:
        done.set()
        copy.join()


def test_a_repair_in_place_just_before_the_start_is_served(folder):
    break_by_a_lost_graph(folder / "1")
    copy_in_place(VERSION, folder / "1")
    with Server(models=[Model("m", folder)]) as server, Client(server) as client:
        assert_serves(server, client)


def test_a_model_added_beside_a_broken_version_is_served_from_the_repaired_one(folder, tmp_path):
    config = tmp_path / "models.config"
    config.write_text(config_text([Model("d", DIGITS)]), encoding="utf-8")
    with Server(
        f"--model_config_file={config}", "--model_config_file_poll_wait_seconds=1"
    ) as server, Client(server) as client:
        break_by_emptiness(folder / "1")
        copy_in_place(VERSION, folder / "2")
        config.write_text(config_text([Model("d", DIGITS), Model("m", folder)]), encoding="utf-8")
        wait_for_line(server, "loaded servable {name: m version: 2}")
        assert_serves(server, client)
        assert "did not become available" not in server.log(1000)


def test_copies_that_are_renamed_into_place_are_taken_at_once(folder, tmp_path):
    shutil.copytree(VERSION, folder / "1")
    finish(folder / "1")
    with Server(NEVER, models=[Model("m", folder)]) as server, Client(server) as client:
        for number in range(2, 7):
            subprocess.run(
                f"cp -r {VERSION} {folder}/tmp && mv {folder}/tmp {folder}/{number}",
                shell=True,
                check=True,
            )
            wait_for_line(server, f"loaded servable {{name: m version: {number}}}")
        assert_serves(server, client)


def test_a_copy_whose_files_are_whole_is_taken_after_a_moment(folder):
    copy_in_place(DIGITS / "1", folder / "1")
    # A twentieth of this is enough for what is whole.
    with Server(
        "--version_settle_seconds=40", models=[Model("d", folder)], ready_timeout=30
    ) as server:
        assert "loaded servable {name: d version: 1}" in server.log(1000)


def test_what_cannot_get_better_ends_the_start_at_once(folder):
    break_by_a_missing_kernel(folder / "1")
    with pytest.raises(StartError) as error:
        with Server("--max_num_load_retries=5", models=[Model("m", folder)], ready_timeout=30):
            pass
    assert "ended with code 255" in str(error.value)
    assert "3 ops have no kernel" in str(error.value)


def test_a_version_that_is_to_be_tried_again_tells_its_last_error(folder):
    shutil.copytree(VERSION, folder / "1")
    with Server("--max_num_load_retries=5", models=[Model("m", folder)]) as server, Client(
        server
    ) as client:
        break_by_emptiness(folder / "2")
        wait_for_line(server, "try 1 of 6")
        state, code, message = client.version_states("m")[2]
        assert state in ("START", "LOADING")
        assert code != 0
        assert "saved_model.pb" in message
        copy_in_place(VERSION, folder / "2")
        wait_for_line(server, "loaded servable {name: m version: 2}")
        assert client.version_states("m")[2] == ("AVAILABLE", 0, "")


def run(*flags, seconds=60):
    """What a server that ends by itself prints, and its exit code."""
    ended = subprocess.run(
        [binary(), "serve", *flags],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(),
        timeout=seconds,
        check=False,
    )
    return ended.returncode, ended.stdout


@pytest.mark.parametrize("flag", ["port", "rest_api_port", "admin_port"])
def test_a_port_that_there_is_not(flag):
    code, text = run(f"--model_base_path={HALF_PLUS_TWO}", f"--{flag}=99999")
    assert code == 255
    assert f"{flag} is 99999; ports are numbers from 1 to 65535" in text


def test_a_taken_port_is_told_before_models_load(tmp_path):
    with socket.create_server(("0.0.0.0", free_port())) as listener:
        port = listener.getsockname()[1]
        # Would be waited for without end.
        code, text = run(f"--port={port}", f"--model_base_path={tmp_path / 'missing'}")
    assert code == 255
    assert f"Failed to BuildAndStart gRPC server: cannot listen on port {port}" in text
    assert "grpc_status" not in text


def test_a_taken_socket_is_told_before_models_load(tmp_path):
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        path = f"{folder}/s"
        listener.bind(path)
        listener.listen()
        flags = ["--port=0", f"--grpc_socket_path={path}"]
        code, text = run(*flags, f"--model_base_path={tmp_path / 'missing'}")
        assert code == 255
        assert f"cannot listen on socket {path}: another server has it" in text


def test_a_label_at_the_start_needs_a_flag(tmp_path):
    config = tmp_path / "models.config"
    config.write_text(config_text([Model("m", HALF_PLUS_TWO, labels={"l": 123})]))
    code, text = run(f"--model_config_file={config}", f"--port={free_port()}")
    assert code == 255
    assert "--allow_version_labels_for_unavailable_models" in text


@pytest.mark.parametrize(
    "file, told",
    [
        ("saved_model.pb", "it is not a regular file"),
        ("saved_model.pbtxt", "it is not a regular file"),
        ("assets.extra/tf_serving_warmup_requests", "it is not a regular file"),
        ("variables/variables.index", "it is not a regular file"),
    ],
)
def test_a_pipe_in_the_place_of_a_file_holds_nothing_up(tmp_path, file, told):
    shutil.copytree(HALF_PLUS_TWO, tmp_path / "model")
    (version,) = (tmp_path / "model").iterdir()
    if file.startswith("saved_model"):
        (version / "saved_model.pb").unlink()
    path = version / file
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    code, text = run(
        f"--model_base_path={tmp_path / 'model'}", f"--port={free_port()}",
        "--max_num_load_retries=0",
    )
    assert code == 255
    assert told in text


def test_an_error_in_a_file_is_not_buried_under_the_list_of_flags(tmp_path):
    config = tmp_path / "tessera.yaml"
    config.write_text(f"models:\n  - {{name: m, base_path: {HALF_PLUS_TWO}, limit: 3}}\n")
    code, text = run(f"--config={config}")
    assert code == 255
    assert f"{config}:2: unknown key 'limit'" in text
    assert "--check_config" in text and "usage:" not in text


def test_unknown_arguments_are_told_with_what_may_be_meant():
    unknown = ("--enable_batchin", "--max_num_load_retrys=7", "--port", "stray")
    with Server(*unknown, models=[Model("m", HALF_PLUS_TWO)]) as server:
        log = server.log(1000)
    assert "unknown argument: --enable_batchin is passed over; did you mean" in log
    assert "did you mean 'enable_batching'?" in log
    assert "did you mean 'max_num_load_retries'?" in log
    assert "unknown argument: --port is passed over; its value belongs behind a =" in log
    assert "unknown argument: stray is passed over" in log
    assert "usage:" not in log


class Waiting:
    """A server that never becomes ready, ended by the test."""

    def __init__(self, *flags):
        self._process = subprocess.Popen(
            [binary(), "serve", f"--port={free_port()}", *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        # What never comes ends the wait.
        self._limit = threading.Timer(60, self._process.kill)
        self._limit.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._limit.cancel()
        self._process.kill()
        self._process.communicate()

    def read_until(self, text):
        for line in self._process.stderr:
            if text in line:
                return line
        raise AssertionError(f"the server ended without '{text}'")


@pytest.mark.parametrize(
    "path, hint",
    [
        (VERSION, f"it is a version itself: name the folder that it is in, {VERSION.parent}"),
        (pathlib.Path("/no/such/folder"), "/no/such/folder"),
    ],
)
def test_a_base_path_without_versions_is_told(path, hint):
    with Waiting("--model_name=m", f"--model_base_path={path}") as server:
        line = server.read_until("ports open once there is a version of each model")
        assert f"'m' of {path}" in line
        assert "TensorFlow ModelServer" in line
        assert hint in server.read_until("servable 'm':")


def test_requests_that_fail_are_logged():
    with Server(models=[Model("m", HALF_PLUS_TWO)]) as server:
        assert server.http("POST", "/v1/models/absent:predict", b'{"instances": [1]}')[0] == 404
        wait_for_line(server, "request failed: rest predict of model 'absent': NOT_FOUND: Servable")


def test_the_log_level_is_a_flag():
    with Server("--log_level=error", models=[Model("m", HALF_PLUS_TWO)]) as server:
        assert server.http("POST", "/v1/models/absent:predict", b'{"instances": [1]}')[0] == 404
        assert server.log() == ""
    code, text = run(f"--model_base_path={HALF_PLUS_TWO}", "--log_level=loud")
    assert code == 255
    assert "log_level is 'loud'; it must be info, warning or error" in text


def test_a_config_file_that_is_gone_is_told_and_so_is_its_return(tmp_path):
    config = tmp_path / "models.config"
    text = config_text([Model("m", HALF_PLUS_TWO)])
    config.write_text(text, encoding="utf-8")
    with Server(
        f"--model_config_file={config}", "--model_config_file_poll_wait_seconds=1"
    ) as server:
        config.unlink()
        wait_for_line(server, "No such file or directory")
        config.write_text(text, encoding="utf-8")
        wait_for_line(server, "all is well again")
        assert server.log(1000).count("No such file or directory") == 1
