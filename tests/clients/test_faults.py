"""Faults of disks, folders and loads. Each leaves the server running and serving."""

import os
import shutil
import subprocess
import threading
import time

import pytest

from clients.client import Client, refused
from clients.conftest import HALF_PLUS_TWO, assert_serves
from clients.fault_steps import publish, wait_for_state, wait_until
from clients.made_models import save_waiting_model
from clients.server import Model, Server, StartError, binary

VERSION = HALF_PLUS_TWO / "00000123"
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8


@pytest.fixture(name="folder")
def _folder(tmp_path):
    """The base path of model `m`, with version 1."""
    folder = tmp_path / "m"
    folder.mkdir()
    publish(VERSION, folder / "1")
    return folder


def obeying_permissions():
    """Words that start a server to which permissions apply even if root runs the tests."""
    if os.geteuid() != 0:
        return None
    without = "-dac_override,-dac_read_search"
    return ["setpriv", f"--bounding-set={without}", f"--inh-caps={without}", str(binary()), "serve"]


def test_a_base_path_that_vanishes_and_returns(folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    publish(VERSION, other / "1")
    with Server(models=[Model("m", folder), Model("other", other)]) as server, Client(
        server
    ) as client:
        folder.rename(tmp_path / "away")
        publish(VERSION, other / "2")
        wait_for_state(client, "other", 2, "AVAILABLE")
        assert_serves(server, client)
        assert client.version_states("m") == {1: ("AVAILABLE", 0, "")}
        (tmp_path / "away").rename(folder)
        publish(VERSION, folder / "2")
        wait_for_state(client, "m", 2, "AVAILABLE")
        assert_serves(server, client)


def test_folders_that_cannot_be_read(folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    publish(VERSION, other / "1")
    models = [Model("m", folder), Model("other", other)]
    with Server(models=models, program=obeying_permissions()) as server, Client(server) as client:
        publish(VERSION, folder / "2.tmp2")
        (folder / "2.tmp2").chmod(0)
        (folder / "2.tmp2").rename(folder / "2")
        code, message = wait_for_state(client, "m", 2, "END")
        assert code == PERMISSION_DENIED, message
        assert_serves(server, client)
        (folder / "2").chmod(0o755)
        wait_for_state(client, "m", 2, "AVAILABLE")

        folder.chmod(0)
        publish(VERSION, other / "2")
        wait_for_state(client, "other", 2, "AVAILABLE")
        assert_serves(server, client)
        folder.chmod(0o755)
        publish(VERSION, folder / "3")
        wait_for_state(client, "m", 3, "AVAILABLE")


def test_a_version_that_was_broken_and_is_whole_again(folder):
    with Server(models=[Model("m", folder)]) as server, Client(server) as client:
        hidden = folder / "2.tmp"
        shutil.copytree(VERSION, hidden)
        data = hidden / "variables" / "variables.data-00000-of-00001"
        whole = data.read_bytes()
        data.write_bytes(whole[:3])
        hidden.rename(folder / "2")
        code, _ = wait_for_state(client, "m", 2, "END")
        assert code != 0
        assert_serves(server, client)
        (folder / "2" / "variables" / data.name).write_bytes(whole)
        wait_for_state(client, "m", 2, "AVAILABLE")
        wait_for_state(client, "m", 1, "END")
        assert_serves(server, client)


def test_a_slow_copy_is_never_served_torn(folder):
    with Server(models=[Model("m", folder)]) as server, Client(server) as client:
        files = [path for path in sorted(VERSION.rglob("*")) if path.is_file()]
        for path in files:
            place = folder / "2" / path.relative_to(VERSION)
            place.parent.mkdir(parents=True, exist_ok=True)
            data = path.read_bytes()
            third = 1 + len(data) // 3
            with open(place, "wb") as file:
                for begin in range(0, len(data), third):
                    file.write(data[begin : begin + third])
                    file.flush()
                    if path == files[-1] and begin + third >= len(data):
                        break  # now it is whole
                    time.sleep(0.4)
                    assert 2 not in client.version_states("m")
        wait_for_state(client, "m", 2, "AVAILABLE")
        assert "failed" not in server.log()
        assert_serves(server, client)


def test_a_version_waits_for_its_marker(folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    publish(VERSION, other / "1")
    for base_path in (folder, other):
        (base_path / "1" / "_DONE").touch()
    models = [Model("m", folder), Model("other", other)]
    with Server("--version_marker_file=_DONE", models=models) as server, Client(server) as client:
        publish(VERSION, folder / "2")
        for number in ("2", "3"):  # whose loads show that both folders were looked at meanwhile
            publish(VERSION, other / number)
            (other / number / "_DONE").touch()
            wait_for_state(client, "other", int(number), "AVAILABLE")
        assert list(client.version_states("m")) == [1]
        (folder / "2" / "_DONE").touch()
        wait_for_state(client, "m", 2, "AVAILABLE")


def test_a_full_disk_tears_a_copy(tmp_path):
    folder = tmp_path / "m"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted: {mounted.stderr}")
    try:
        publish(VERSION, folder / "1")
        with Server(models=[Model("m", folder)]) as server, Client(server) as client:
            with open(folder / "filler", "wb", buffering=0) as filler:
                with pytest.raises(OSError):
                    while True:
                        filler.write(b"x" * 4096)
            with pytest.raises((OSError, shutil.Error)):
                shutil.copytree(VERSION, folder / "2")
            code, _ = wait_for_state(client, "m", 2, "END")
            assert code != 0
            assert_serves(server, client)
            (folder / "filler").unlink()
            shutil.copytree(VERSION, folder / "2", dirs_exist_ok=True)
            wait_for_state(client, "m", 2, "AVAILABLE")
            assert_serves(server, client)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_log_lines_that_find_the_disk_full(folder):
    program = ["sh", "-c", 'exec "$0" serve "$@" >/dev/full 2>&1', str(binary())]
    with Server(models=[Model("m", folder)], program=program) as server, Client(server) as client:
        publish(VERSION, folder / "2")
        wait_for_state(client, "m", 2, "AVAILABLE")
        assert_serves(server, client)
        assert server.stop() == 0


def test_two_hundred_models_at_once():
    models = [Model("m", HALF_PLUS_TWO)]
    models += [Model(f"m{number}", HALF_PLUS_TWO) for number in range(199)]
    with Server(models=models) as server, Client(server) as client:
        assert_serves(server, client)
        for number in range(199):
            assert client.version_states(f"m{number}") == {123: ("AVAILABLE", 0, "")}


def test_versions_deleted_while_they_are_loaded(folder):
    with Server(models=[Model("m", folder)]) as server, Client(server) as client:
        for number in range(2, 12):
            publish(VERSION, folder / str(number))
            # Somewhere between before it is seen and after it is loaded.
            time.sleep(0.15 * (number - 2))
            shutil.rmtree(folder / str(number))
            assert_serves(server, client)
        publish(VERSION, folder / "50")
        wait_for_state(client, "m", 50, "AVAILABLE")
        assert_serves(server, client)


def test_a_load_that_hangs_holds_up_nobody(folder, tmp_path):
    hanging = tmp_path / "hanging"
    hanging.mkdir()
    publish(VERSION, hanging / "1")
    models = [Model("m", folder), Model("hanging", hanging)]
    with Server(models=models) as server, Client(server) as client:
        save_waiting_model(hanging / "2.tmp").rename(hanging / "2")
        wait_for_state(client, "hanging", 2, "LOADING")
        publish(VERSION, folder / "2")
        wait_for_state(client, "m", 2, "AVAILABLE")
        assert_serves(server, client)
        assert client.version_states("hanging")[1] == ("AVAILABLE", 0, "")
        assert server.stop(seconds=30) == 0, "nor the end of the server"


def test_a_broken_model_holds_up_no_other_between_its_tries(folder, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    publish(VERSION, broken / "1")
    models = [Model("m", folder), Model("broken", broken)]
    with Server("--max_num_load_retries=5", models=models) as server, Client(server) as client:
        (broken / "2.tmp").mkdir()
        (broken / "2.tmp").rename(broken / "2")
        wait_until(lambda: "try 1 of 6" in server.log(), server.log)
        publish(VERSION, folder / "2")
        wait_for_state(client, "m", 2, "AVAILABLE")
        assert client.version_states("broken")[2][0] in ("START", "LOADING")
        assert client.version_states("broken")[1] == ("AVAILABLE", 0, "")
        assert_serves(server, client)


def test_a_version_beyond_the_memory_limit(folder):
    with Server("--memory_limit=60KB", models=[Model("m", folder)]) as server, Client(
        server
    ) as client:
        hidden = folder / "2.tmp"
        shutil.copytree(VERSION, hidden)
        (hidden / "ballast").write_bytes(b"x" * 60000)
        hidden.rename(folder / "2")
        code, message = wait_for_state(client, "m", 2, "END")
        assert code == RESOURCE_EXHAUSTED
        assert "Insufficient resources to load servable {name: m version: 2}" in message
        assert "Raise --memory_limit" in message
        assert_serves(server, client)
        shutil.rmtree(folder / "2")
        publish(VERSION, folder / "3")
        wait_for_state(client, "m", 3, "AVAILABLE")
        assert_serves(server, client)


def test_a_start_beyond_the_memory_limit():
    with pytest.raises(StartError) as error:
        with Server("--memory_limit=100B", models=[Model("m", HALF_PLUS_TWO)]):
            pass
    assert "RESOURCE_EXHAUSTED" in str(error.value)


def test_a_model_that_is_taken_away_altogether(folder):
    with Server(models=[Model("m", folder)]) as server, Client(server) as client:
        stop = threading.Event()
        codes = []

        def ask():
            while not stop.is_set():
                codes.append(server.http("POST", "/v1/models/m:predict", b'{"instances": [1]}')[0])

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            shutil.rmtree(folder / "1")
            wait_for_state(client, "m", 1, "END")
            with refused("NOT_FOUND"):
                client.half_plus_two([1.0])
            publish(VERSION, folder / "1")
            wait_for_state(client, "m", 1, "AVAILABLE")
        finally:
            stop.set()
            asking.join()
        assert set(codes) <= {200, 404}
        assert_serves(server, client)
