"""`tessera bench`: a model in its process, and a real server by both protocols."""

import json
import os
import pty
import re
import select
import signal
import subprocess

import numpy as np
import pytest

from clients.conftest import DIGITS, HALF_PLUS_TWO
from clients.server import Model, Server, binary, free_port
from clients.test_command_line import VERSION, done, tessera

SHORT = ["--seconds=0.3", "--warmup=0"]


def check_result(result, rows):
    """What must agree in every result of a run without failures."""
    assert result["requests"] > 0
    assert (result["failed"], result["failures"]) == (0, [])
    assert sum(each["count"] for each in result["histogram"]) == result["requests"]
    assert result["rows_per_request"] == rows
    assert result["requests_per_second"] == pytest.approx(
        result["requests"] / result["seconds"], rel=0.01
    )
    assert result["rows_per_second"] == pytest.approx(rows * result["requests_per_second"], rel=0.01)
    latency = result["latency_us"]
    assert 0 < latency["min"] <= latency["mean"] <= latency["max"]
    quantiles = [latency[name] for name in ("min", "p50", "p90", "p99", "p99.9", "max")]
    assert quantiles == sorted(quantiles)
    bounds = [each["from_us"] for each in result["histogram"]]
    assert bounds == sorted(bounds) and bounds[0] == latency["min"]


def test_measures_a_model_in_its_process_with_random_inputs():
    result = json.loads(
        done("bench", DIGITS / "2", *SHORT, "--batch_size=8", "--concurrency=2", "--json")
    )
    check_result(result, rows=8)
    assert result["subject"].endswith("digits/2")
    assert result["inputs"] == {"image": "float[8,8,8,1]"}
    assert result["concurrency"] == 2


def test_measures_given_inputs_and_draws_a_histogram(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(5, dtype=np.float32))
    text = done("bench", VERSION, *SHORT, f"--input=x=@{tmp_path}/x.npy", "--threads=1")
    assert "each request  x: float[5]\n" in text
    requests = int(re.search(r"requests +(\d+) in 0\.3 s, 0 failed", text)[1])
    bars = re.findall(r"^ *[\d.]+ u?m?s \|(#*) *(\d+)$", text, re.MULTILINE)
    assert sum(int(count) for _, count in bars) == requests
    assert max(len(bar) for bar, _ in bars) == 50


@pytest.mark.parametrize("load", [["--concurrency=3"], ["--rate=200"]], ids=["closed", "open"])
@pytest.mark.parametrize("protocol", ["grpc", "rest"])
def test_measures_a_server(serving, protocol, load):
    where = {
        "grpc": [f"--server={serving.grpc_address}"],
        "rest": ["--rest", f"--server=127.0.0.1:{serving.rest_port}"],
    }[protocol]
    result = json.loads(
        done("bench", "--model=digits", "--label=canary", *where, *load, *SHORT, "--json")
    )
    check_result(result, rows=1)
    assert result["subject"].startswith("model 'digits' at 127.0.0.1:")


class Terminal:
    """A terminal for the standard error of a program."""

    def __init__(self):
        self._side, self.end = pty.openpty()
        self.shown = ""

    def wait_for(self, pattern):
        """Reads until something matches. Fails at the end, or after a minute of silence."""
        while not re.search(pattern, self.shown):
            ready, _, _ = select.select([self._side], [], [], 60)
            assert ready, self.shown
            self.shown += os.read(self._side, 4096).decode()

    def close(self):
        os.close(self.end)
        os.close(self._side)


@pytest.fixture(name="terminal")
def _terminal():
    terminal = Terminal()
    yield terminal
    terminal.close()


def test_a_progress_bar_is_drawn_on_a_terminal_only(terminal):
    run = subprocess.run(
        [str(binary()), "bench", str(VERSION), *SHORT],
        stdout=subprocess.PIPE,
        stderr=terminal.end,
        text=True,
        timeout=60,
        check=True,
    )
    terminal.wait_for("\r\x1b\\[K$")
    assert re.search(r"\[#* *\] +0 of 0 s  \d+ answers/s  0 failed", terminal.shown)
    assert "answers/s" not in run.stdout


def test_failures_are_counted_and_an_interrupt_ends_the_load(terminal):
    with Server(models=[Model("m", HALF_PLUS_TWO)]) as server:
        bench = subprocess.Popen(
            [str(binary()), "bench", "--model=m", f"--server={server.grpc_address}"]
            + ["--rate=100", "--seconds=600", "--warmup=0", "--json"],
            stdout=subprocess.PIPE,
            stderr=terminal.end,
            text=True,
        )
        terminal.wait_for("[1-9][0-9]* answers/s  0 failed")
        server.kill()
        terminal.wait_for("  [1-9][0-9]* failed")
        bench.send_signal(signal.SIGINT)
        out, _ = bench.communicate(timeout=60)
    assert bench.returncode == 1
    result = json.loads(out)
    assert 0 < result["failed"] < result["requests"]
    assert result["seconds"] < 600
    assert sum(each["count"] for each in result["histogram"]) == (
        result["requests"] - result["failed"]
    )
    assert "UNAVAILABLE" in result["failures"][0]
    terminal.wait_for(f"UNAVAILABLE: {result['failed']} of {result['requests']} requests failed")


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        ([], 2, ["DIR", "--model"]),
        ([VERSION, "--model=m"], 2, ["DIR", "--model"]),
        ([VERSION, "--rest"], 2, ["need --model"]),
        (["--model=m", "--threads=2"], 2, ["need DIR"]),
        ([VERSION, "--concurrency=0"], 2, ["--concurrency must be from 1"]),
        ([VERSION, "--seconds=0"], 2, ["--seconds must be more than 0"]),
        ([VERSION, "--seconds=nan"], 2, ["--seconds must be more than 0"]),
        ([VERSION, "--rate=-1"], 2, ["--rate must be"]),
        ([VERSION, "--threads=-1"], 2, ["--threads must be"]),
        ([VERSION, "--batch_size=2", "--input=x=[1]"], 2, ["random inputs"]),
        ([VERSION.parent], 1, ["NOT_FOUND", "version"]),
        ([VERSION, "--signature=nope"], 1, ["NOT_FOUND", "serving_default"]),
        ([VERSION, "--input=z=1"], 1, ["no input 'z'", "it takes: x"]),
        ([VERSION, "--signature=classify_x_to_y"], 1, ["string", "--input"]),
        ([DIGITS / "2", "--input=image=[[1]]"], 1, ["input 'image'", "but [1,1]", "[?,8,8,1]"]),
        ([DIGITS / "2", "--batch_size=2000000000"], 1, ["'image'", "--batch_size"]),
    ],
)
def test_tells_what_is_wrong(arguments, code, words):
    got, out, err = tessera("bench", *arguments)
    assert (got, out) == (code, "")
    for word in words:
        assert word in err


def test_a_server_that_is_not_there_is_said():
    code, out, err = tessera("bench", "--model=m", f"--server=127.0.0.1:{free_port()}")
    assert (code, out) == (1, "")
    assert "UNAVAILABLE: no answer from 127.0.0.1:" in err
