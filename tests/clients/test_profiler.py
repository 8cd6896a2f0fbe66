"""Traces of a running server: by TensorFlow's client, TensorBoard, and `tessera profile`."""

import collections
import contextlib
import json
import os
import subprocess
import threading

import pytest
import tensorflow as tf
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from clients.batching_client import FOREVER, look, send, values
from clients.client import Client
from clients.conftest import HALF_PLUS_TWO
from clients.server import Model, Server, binary, free_port
from clients.tensorboard import TensorBoard


@contextlib.contextmanager
def load(*asks):
    """Calls each of `asks` in a thread of its own, again and again; raises what they raise."""
    over = threading.Event()
    failures = []

    def repeat(ask):
        try:
            while not over.is_set():
                ask()
        except Exception as failure:  # pylint: disable=broad-exception-caught
            failures.append(failure)

    threads = [threading.Thread(target=repeat, args=(ask,)) for ask in asks]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not failures


@pytest.fixture
def busy(serving, client):
    """The server `serving` under requests by gRPC and REST."""

    def rest():
        status, _, _ = serving.http("POST", "/v1/models/m:predict", b'{"instances": [4.0]}')
        assert status == 200

    with load(lambda: client.half_plus_two([2.0]), lambda: client.half_plus_two([2.0]), rest):
        yield serving


def profile(*arguments, **environment):
    return subprocess.run(
        [binary(), "profile", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def record(server, path, *flags):
    """The complete events of a second of a server, from `tessera profile`; times are nanoseconds."""
    done = profile(server.grpc_address, f"--output={path}", "--duration=1", *flags)
    assert done.returncode == 0, done.stderr
    assert f"wrote {path}: " in done.stdout
    trace = json.loads(path.read_text(encoding="utf-8"))
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert f"{len(events)} events" in done.stdout
    for event in events:
        for key in ("ts", "dur"):
            # Of Perfetto's releases some truncate and others round, and all drop what then does not
            # nest.
            assert int(event[key] * 1000) == round(event[key] * 1000), event
            event[key] = round(event[key] * 1000)
    return events


def by_category(events):
    found = collections.defaultdict(list)
    for event in events:
        found[event["cat"]].append(event)
    return found


def end(event):
    return event["ts"] + event["dur"]


def within(inner, outer):
    return (
        inner["tid"] == outer["tid"]
        and outer["ts"] <= inner["ts"]
        and end(inner) <= end(outer)
    )


def whole_requests(found):
    """Those that did not begin before the trace, and whose last phase was recorded before its end."""
    encodes = [event for event in found["phase"] if event["name"] == "encode"]
    whole = [
        request
        for request in found["request"]
        if request["ts"] > 0 and any(within(encode, request) for encode in encodes)
    ]
    assert len(whole) > len(found["request"]) / 2
    return whole[:20]


def assert_nested(events):
    """Two events of a thread are one within the other, or apart."""
    threads = collections.defaultdict(list)
    for event in events:
        threads[event["tid"]].append(event)
    for thread in threads.values():
        thread.sort(key=lambda event: (event["ts"], -event["dur"]))
        around = []
        for event in thread:
            while around and end(around[-1]) <= event["ts"]:
                around.pop()
            assert not around or end(event) <= end(around[-1]), (around[-1], event)
            around.append(event)


def names_of(plane):
    return {plane.event_metadata[e.metadata_id].name for line in plane.lines for e in line.events}


# ---- TensorFlow's client ----


def test_tensorflows_client_records_a_trace(busy, tmp_path):
    tf.profiler.experimental.client.trace(busy.grpc_address, str(tmp_path), 500)
    (file,) = tmp_path.glob("plugins/profile/*/*.xplane.pb")
    space = xplane_pb2.XSpace.FromString(file.read_bytes())
    (plane,) = space.planes
    assert plane.name == "/host:CPU"
    names = names_of(plane)
    assert {"predict m/123", "run m/123", "decode", "encode"} <= names
    assert any(name.endswith(":Mul") for name in names), names
    assert not space.errors and not space.warnings


def test_tensorflows_client_monitors(busy):
    text = tf.profiler.experimental.client.monitor(busy.grpc_address, 300, level=2)
    lines = text.splitlines()
    assert any(line.startswith("Requests: ") and "/s, " in line for line in lines), text
    assert any(line.startswith("  predict m/123: ") for line in lines), text
    assert any(line.startswith("Runs: ") and "/s, " in line for line in lines), text
    assert any(line.startswith("CPU: ") for line in lines), text


# ---- TensorBoard ----


def test_tensorboard_captures_a_profile(busy, tmp_path):
    with TensorBoard(tmp_path) as board:
        answer = board.ask("capture_profile", service_addr=busy.grpc_address, duration=500)
        assert answer == {"result": "Capture profile successfully. Please refresh."}
        (run,) = board.ask("runs")
        assert "trace_viewer" in str(board.ask("run_tools", run=run))
        (host,) = board.ask("hosts", run=run, tag="trace_viewer")
        trace = board.ask("data", run=run, tag="trace_viewer", host=host["hostname"])
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    names = {event["name"] for event in events}
    assert {"predict m/123", "run m/123", "encode"} <= names
    assert any(name.endswith(":Mul") for name in names), names


# ---- tessera profile ----


def test_a_chrome_trace_nests_requests_runs_and_ops(busy, tmp_path):
    events = record(busy, tmp_path / "trace.json")
    assert_nested(events)
    found = by_category(events)
    assert set(found) >= {"request", "phase", "run", "op"}
    assert {event["args"]["protocol"] for event in found["request"]} == {"grpc", "rest"}
    assert {event["args"]["status"] for event in found["request"]} == {"OK"}
    for request in whole_requests(found):
        (phase,) = [p for p in found["phase"] if p["name"] == "run" and within(p, request)]
        (run,) = [run for run in found["run"] if within(run, phase)]
        assert run["args"]["rows"] == "1"
        ops = [op["name"] for op in found["op"] if within(op, run)]
        assert any(name.endswith(":Mul") for name in ops), ops


def test_requests_without_ops(busy, tmp_path):
    found = by_category(record(busy, tmp_path / "trace.json", "--level=requests"))
    assert found["run"] and not found["op"]


def test_an_xspace_for_tensorboard(busy, tmp_path):
    path = tmp_path / "host.xplane.pb"
    done = profile(busy.grpc_address, f"--output={path}", "--duration=0.3")
    assert done.returncode == 0, done.stderr
    (plane,) = xplane_pb2.XSpace.FromString(path.read_bytes()).planes
    assert "predict m/123" in names_of(plane)


def test_proxies_are_not_asked(serving, tmp_path):
    done = profile(
        serving.grpc_address, f"--output={tmp_path / 'trace.json'}", "--duration=0.001",
        grpc_proxy=f"http://127.0.0.1:{free_port()}", no_grpc_proxy="", no_proxy="",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_batch_is_one_run_that_its_requests_wait_for(start_batching, tmp_path):
    server = start_batching(max_batch_size=3, batch_timeout_micros=FOREVER)

    def three():
        futures = send(server, look([2.0]), look([4.0]), look([6.0]))
        assert [values(future) for future in futures] == [[3.0], [4.0], [5.0]]

    with load(three):
        events = record(server, tmp_path / "trace.json")
    assert_nested(events)
    found = by_category(events)
    runs = [event for event in found["run"] if event["name"] == "run look/1"]
    assert runs and {run["args"]["rows"] for run in runs} == {"3"}
    waits = [event for event in found["queue"] if event["name"] == "batch"]
    assert len(found["request"]) > len(runs)
    for request in whole_requests(found):
        assert request["name"] == "predict look/1"
        (wait,) = [wait for wait in waits if within(wait, request)]
        (phase,) = [p for p in found["phase"] if p["name"] == "run" and within(p, request)]
        assert end(wait) == phase["ts"]


def probe(server, tmp_path):
    """Records for a moment."""
    return profile(server.grpc_address, "--duration=0.001", f"--output={tmp_path / 'probe.json'}")


def start_recording(server, path, tmp_path):
    """A process that records to `path` until it is stopped, and what another one got meanwhile."""
    command = [binary(), "profile", server.grpc_address, "--duration=600", f"--output={path}"]
    while True:
        first = subprocess.Popen(command)  # pylint: disable=consider-using-with
        while first.poll() is None:
            second = probe(server, tmp_path)
            if second.returncode != 0:
                return first, second
        # It came while the other one recorded.


def test_one_trace_at_a_time(serving, tmp_path):
    path = tmp_path / "trace.json"
    first, second = start_recording(serving, path, tmp_path)
    assert "another client is recording a trace" in second.stderr
    first.kill()
    first.wait()
    while second.returncode != 0:  # until the server has seen that the first one is gone
        second = probe(serving, tmp_path)
    assert "nothing happened" in second.stderr
    assert not path.exists()


def test_a_server_that_stops_answers_with_what_it_recorded(tmp_path):
    path = tmp_path / "trace.json"
    with Server(models=[Model("m", HALF_PLUS_TWO)]) as server, Client(server) as client:
        recording, _ = start_recording(server, path, tmp_path)
        assert client.half_plus_two([2.0]) == [3.0]
        assert server.stop() == 0
        assert recording.wait() == 0
    names = {event["name"] for event in json.loads(path.read_text())["traceEvents"]}
    assert "predict m/123" in names


@pytest.mark.parametrize(
    "arguments, code, texts",
    [
        (["127.0.0.1:{port}"], 1, ["UNAVAILABLE", "asked 127.0.0.1:{port}: is a server there?"]),
        (["127.0.0.1:{port}", "--output=/nowhere/t.json"], 1, ["/nowhere"]),
        (["127.0.0.1:{port}", "--ca=/nowhere/ca.pem"], 1, ["/nowhere/ca.pem"]),
        (["127.0.0.1:{port}", "--duration=0"], 2, ["--duration must be from 0.001 to 3600"]),
        (["127.0.0.1:{port}", "--duration=nan"], 2, ["--duration"]),
        (["127.0.0.1:{port}", "--level=all"], 2, ["--level must be ops or requests"]),
        ([], 2, ["ADDRESS"]),
    ],
)
def test_errors_name_the_remedy(arguments, code, texts, tmp_path):
    port = free_port()
    done = subprocess.run(
        [binary(), "profile", *(argument.format(port=port) for argument in arguments)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    for text in texts:
        assert text.format(port=port) in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_service_can_be_left_out(tmp_path):
    with Server("--enable_profiler=false", models=[Model("m", HALF_PLUS_TWO)]) as server:
        done = profile(server.grpc_address, f"--output={tmp_path / 'trace.json'}")
        assert done.returncode == 1
        assert "has no profiler: it may run with --enable_profiler=false" in done.stderr
        with pytest.raises(RuntimeError, match="UNIMPLEMENTED"):
            tf.profiler.experimental.client.monitor(server.grpc_address, 100)
