"""`tessera rollout` steers a candidate of a real server, and shows what it did."""

import json
import signal
import subprocess
import time

import pytest

from clients.client import SECONDS
from clients.conftest import HALF_PLUS_TWO
from clients.server import Server, binary, free_port
from rollouts.version_folders import push

VERSION = HALF_PLUS_TWO / "00000123"
CONFIG = """
file_system_poll_wait_seconds: 1
version_settle_seconds: 0
models:
  - name: m
    base_path: {base_path}
    rollout: {{steps: [{{share_percent: 20, duration_seconds: 1000}}]}}
"""


class Commands:
    """A server whose model `m` has a rollout, and `tessera rollout` with its admin address."""

    def __init__(self, folder):
        self.base_path = folder / "m"
        push(VERSION, self.base_path, 1)
        self._config = folder / "config.yaml"
        self._config.write_text(CONFIG.format(base_path=self.base_path), encoding="utf-8")
        self._admin_port = free_port()
        self.server = Server(f"--config={self._config}", f"--admin_port={self._admin_port}")

    def reload(self, more):
        """Reads the models again, without a rollout of `m` and with `more` of it."""
        config = CONFIG[: CONFIG.index("    rollout:")].format(base_path=self.base_path)
        self._config.write_text(config + more, encoding="utf-8")
        self.server.process.send_signal(signal.SIGHUP)

    def _line(self, words):
        return [binary(), "rollout", *words, f"--admin=127.0.0.1:{self._admin_port}"]

    def run(self, *words):
        return subprocess.run(
            self._line(words), capture_output=True, text=True, timeout=SECONDS, check=False
        )

    def json(self, *words):
        ended = self.run(*words, "--json")
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    def watch(self, *words):
        return subprocess.Popen(self._line(words), stdout=subprocess.PIPE, text=True)

    def wait_for(self, phase):
        deadline = time.monotonic() + SECONDS
        while (status := self.json("status", "m"))["phase"] != phase:
            assert time.monotonic() < deadline, f"{status}\n{self.server.log(100)}"
            time.sleep(0.05)
        return status


@pytest.fixture(name="commands")
def _commands(tmp_path):
    made = Commands(tmp_path)
    with made.server:
        yield made


def test_a_candidate_is_paused_resumed_promoted_and_rolled_back_by_hand(commands):
    watcher = commands.watch("status", "m", "--watch", "--json")
    first = json.loads(watcher.stdout.readline())
    assert (first["model"], first["stable_version"]) == ("m", "1")

    push(VERSION, commands.base_path, 2)
    status = commands.wait_for("ROLLOUT_STEP")
    assert (status["stable_version"], status["candidate_version"]) == ("1", "2")
    assert status["share_percent"] == 20
    table = commands.run("status").stdout.splitlines()
    assert table[0].split()[:4] == ["MODEL", "PHASE", "STABLE", "CANDIDATE"]
    assert table[1].split()[:4] == ["m", "step", "1", "2"]

    assert commands.json("pause", "m", "--version=2")["phase"] == "ROLLOUT_PAUSED"
    again = commands.run("pause", "m")
    assert again.returncode == 1 and "paused already" in again.stderr
    assert commands.json("resume", "m")["phase"] == "ROLLOUT_STEP"
    other = commands.run("promote", "m", "--version=9")
    assert other.returncode == 1 and "version 9 of model m is not being tried" in other.stderr

    promoted = commands.json("promote", "m")
    assert (promoted["stable_version"], promoted["previous_version"]) == ("2", "1")
    nothing = commands.run("promote", "m")
    assert nothing.returncode == 1 and "nothing to promote" in nothing.stderr
    back = commands.json("rollback", "m")
    assert (back["stable_version"], back["rejected_versions"]) == ("1", ["2"])
    assert "rolled back by hand" in commands.run("status", "m").stdout
    gone = commands.run("rollback", "m")
    assert gone.returncode == 1 and "no version to go back to" in gone.stderr

    # A higher version is tried, and rejected before anybody else decides.
    push(VERSION, commands.base_path, 3)
    commands.wait_for("ROLLOUT_STEP")
    assert commands.json("rollback", "m", "--version=3")["rejected_versions"] == ["2", "3"]

    expected = [
        ("started", "2", False),
        ("step", "2", False),
        ("paused", "2", True),
        ("resumed", "2", True),
        ("step", "2", False),
        ("promoted", "2", True),
        ("rolled_back", "2", True),
        ("started", "3", False),
        ("step", "3", False),
        ("rolled_back", "3", True),
    ]
    events = [json.loads(watcher.stdout.readline()) for _ in expected]
    assert [(e["kind"], e["version"], e["by_hand"]) for e in events] == expected
    commands.server.stop()
    assert watcher.stdout.read() == ""
    assert watcher.wait(timeout=SECONDS) in (0, 1), "it ends with the server"
    watcher.stdout.close()


def test_models_that_are_not_applied_leave_the_rollout_alone(commands):
    push(VERSION, commands.base_path, 2)
    commands.wait_for("ROLLOUT_STEP")
    assert commands.json("pause", "m")["phase"] == "ROLLOUT_PAUSED"

    commands.reload("    version_labels: {stable: 9}\n")
    deadline = time.monotonic() + SECONDS
    while "were not applied" not in commands.server.log():
        assert time.monotonic() < deadline, commands.server.log(100)
        time.sleep(0.05)

    status = commands.json("status", "m")
    assert status["phase"] == "ROLLOUT_PAUSED", "a rollout that begins anew is not paused"
    assert status["share_percent"] == 20
