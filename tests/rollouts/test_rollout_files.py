"""Bad blocks, damaged state, and configurations that are read again while a rollout runs."""

import re
import shutil
import signal
import subprocess
import time

import pytest

from clients.client import Client
from clients.conftest import HALF_PLUS_TWO
from clients.server import Server, binary
from rollouts.version_folders import push, tear

VERSION = HALF_PLUS_TWO / "00000123"
HEAD = """file_system_poll_wait_seconds: 1
monitoring: {prometheus_config: {enable: true, path: /metrics}}
version_settle_seconds: 0
models:
  - name: m
"""


class Files:
    """The configuration of a server in a folder, and its model `m`."""

    def __init__(self, folder):
        self.base_path = folder / "m"
        self.config = folder / "config.yaml"
        self.state = folder / "config.yaml.rollout-state"

    def write(self, rollout, base_path=None):
        self.config.write_text(
            HEAD + f"    base_path: {base_path or self.base_path}\n    rollout: {rollout}\n",
            encoding="utf-8",
        )

    def push(self, number):
        push(VERSION, self.base_path, number)

    def server(self):
        return Server(f"--config={self.config}")


@pytest.fixture
def files(tmp_path):
    made = Files(tmp_path)
    made.push(1)
    return made


def wait_for_line(server, pattern, seconds=60):
    deadline = time.monotonic() + seconds
    while not re.search(pattern, server.log(1000)):
        assert time.monotonic() < deadline, f"{pattern} is not in:\n{server.log(100)}"
        time.sleep(0.05)


def labels(server):
    """The versions behind the labels, by what answers."""
    with Client(server) as client:
        versions = {}
        for label in ("stable", "canary"):
            status, _, body = server.http("GET", f"/v1/models/m/labels/{label}/metadata")
            assert status == 200, body
            versions[label] = int(re.search(rb'"version": "(\d+)"', body)[1])
        assert client.half_plus_two([2.0]) == [3.0]
        return versions


def gauge(server, name):
    """The value of a metric of model `m`; None if the page has none."""
    page = server.http("GET", "/metrics")[2].decode()
    found = re.search(rf':tessera:serving:{name}\{{model_name="m"\}} (\d+)', page)
    return found and found[1]


@pytest.mark.parametrize(
    "rollout, error",
    [
        (
            "{steps: [{share_percent: 10}, {share_percent: 5}]}",
            r"config.yaml:7: models\[0\].rollout.steps\[1\].share_percent is 5; it must be above 10",
        ),
        ("{conditions: {window_seconds: -1}}", r"config.yaml:7: .*window_seconds is -1"),
        ("{conditions: {max_psi: 0.2}}", r"config.yaml:7: .*set mirror_percent as well"),
        ("{}\n    model_version_policy: {all: {}}", r"config.yaml:8: .*Remove model_version_policy"),
    ],
)
def test_a_bad_block_stops_the_start_with_its_line(files, rollout, error):
    files.write(rollout)
    ended = subprocess.run(
        [binary(), "serve", f"--config={files.config}"], capture_output=True, timeout=60, text=True
    )
    assert ended.returncode == 255
    assert re.search(error, ended.stderr), ended.stderr


def test_a_state_file_that_was_cut_is_taken_up_cautiously(files):
    files.push(2)
    files.push(3)
    files.write("{steps: [{share_percent: 20, duration_seconds: 1000}]}")
    files.state.write_text('{"models": {"m": {"stable_version": "3', encoding="utf-8")
    with files.server() as server:
        wait_for_line(server, r"version 3 step, version 2 is stable, share 20 %")
        assert re.search(r" E .*the state of the rollouts in \S+ is lost: DATA_LOSS", server.log(1000))
        assert labels(server) == {"stable": 2, "canary": 3}
    damaged = files.state.with_name(files.state.name + ".damaged")
    assert damaged.read_text(encoding="utf-8").endswith('"stable_version": "3')
    with files.server() as server:
        wait_for_line(server, r"version 3 step, version 2 is stable, share 20 %")
        assert "is lost" not in server.log(1000), "the new file is whole"


def test_a_killed_server_goes_on_where_it_was(files):
    files.write("{steps: [{share_percent: 20, duration_seconds: 1000}]}")
    with files.server() as server:
        files.push(2)
        wait_for_line(server, r"version 2 step, version 1 is stable")
        deadline = time.monotonic() + 60
        while '"candidate_version": "2"' not in files.state.read_text(encoding="utf-8"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        server.kill()
    with files.server() as server:
        wait_for_line(server, r"version 2 step, version 1 is stable, share 20 %")
        assert labels(server) == {"stable": 1, "canary": 2}


def test_a_rejected_version_is_tried_again_once_its_files_change(files, tmp_path):
    files.write("{steps: [{share_percent: 20, duration_seconds: 1000}]}")
    torn = tmp_path / "torn"
    shutil.copytree(VERSION, torn)
    tear(torn)
    with files.server() as server:
        push(torn, files.base_path, 2)
        wait_for_line(server, r"version 2 rolled_back, version 1 is stable")
        assert server.stop() == 0
    with files.server() as server:
        # Versions were looked for before the server was ready.
        assert labels(server) == {"stable": 1, "canary": 1}
        assert "version 2" not in server.log(1000)
        whole = tmp_path / "whole"
        shutil.copyfile(VERSION / "variables" / "variables.index", whole)
        whole.rename(files.base_path / "2" / "variables" / "variables.index")
        wait_for_line(server, r"version 2 step, version 1 is stable, share 20 %")
        assert labels(server) == {"stable": 1, "canary": 2}


def test_a_configuration_that_is_read_again_keeps_the_rollout(files, tmp_path):
    files.write("{steps: [{share_percent: 20, duration_seconds: 1000}]}")
    with files.server() as server:
        files.push(2)
        wait_for_line(server, r"version 2 step, version 1 is stable, share 20 %")
        assert labels(server) == {"stable": 1, "canary": 2}

        files.write("{steps: [{share_percent: 120}]}")
        server.process.send_signal(signal.SIGHUP)
        wait_for_line(server, r"not applied.*config.yaml:7: .*share_percent is 120")
        assert labels(server) == {"stable": 1, "canary": 2}

        files.write("{steps: [{share_percent: 40}]}", base_path="relative")
        server.process.send_signal(signal.SIGHUP)
        wait_for_line(server, r"not applied.*absolute path")
        assert labels(server) == {"stable": 1, "canary": 2}

        # Nothing was asked yet, so that the step would be held; now it may pass, and is the last.
        files.write("{steps: [{share_percent: 20}], pass_without_requests: true}")
        server.process.send_signal(signal.SIGHUP)
        wait_for_line(server, r"version 2 promoted, version 2 is stable")
        assert labels(server) == {"stable": 2, "canary": 2}


def test_the_first_rollout_of_a_server_comes_with_its_configuration_read_again(files):
    files.config.write_text(HEAD + f"    base_path: {files.base_path}\n", encoding="utf-8")
    with files.server() as server:
        files.write("{steps: [{share_percent: 20, duration_seconds: 1000}]}")
        server.process.send_signal(signal.SIGHUP)
        wait_for_line(server, r"rollout of model 'm': version 1 promoted")
        files.push(2)
        wait_for_line(server, r"version 2 step, version 1 is stable, share 20 %")
        assert labels(server) == {"stable": 1, "canary": 2}
        assert gauge(server, "rollout_candidate_version") == "2"

        # Without the block the highest version answers again, and nothing is left of the rollout.
        files.config.write_text(HEAD + f"    base_path: {files.base_path}\n", encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 60
        while not server.http("GET", "/v1/models/m/metadata")[2].count(b'"version": "2"'):
            assert time.monotonic() < deadline, server.log(100)
            time.sleep(0.05)
        assert gauge(server, "rollout_candidate_version") is None
