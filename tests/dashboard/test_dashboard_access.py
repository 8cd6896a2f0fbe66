"""Who may see and do what at the dashboard's paths, and what a stream takes. Needs no browser."""

import json
import os
import pathlib
import re
import socket
import time

import pytest

from clients.conftest import HALF_PLUS_TWO
from clients.server import Model
from dashboard.conftest import DashboardServer

DATA_PATHS = ("stream", "timeline", "config")
MAX_STREAMS = 32


def test_names_of_other_sites_do_not_lead_to_the_data(server):
    headers = {"Host": "rebound.example"}
    for port in (server.rest_port, server.admin_port):
        for name in DATA_PATHS:
            status, _, body = server.http("GET", f"/dashboard/api/{name}", None, headers, port=port)
            assert status == 403
            assert "IP address" in json.loads(body)["error"]


def test_forms_of_other_sites_ask_and_change_nothing(server):
    # What a form of another site can send: a body and the cookies, but no header of its choice.
    headers = {"Origin": "http://other.example", "Content-Type": "text/plain"}
    for path in ("/v1/models/half:predict", "/admin/v1/rollouts/half:promote"):
        status, reply, body = server.http(
            "POST", path, b'{"instances": [1.0]}', headers, port=server.admin_port
        )
        assert status == 403
        assert "X-Tessera-Admin" in json.loads(body)["error"]
        # A script of another site asks first whether it may send the header. It may not.
        asking = {**headers, "Access-Control-Request-Headers": "x-tessera-admin"}
        status, reply, _ = server.http("OPTIONS", path, None, asking, port=server.admin_port)
        assert status >= 400
        assert "Access-Control-Allow-Origin" not in reply


def test_the_rest_port_has_no_actions(server):
    own = {"X-Tessera-Admin": "1"}
    for method in ("GET", "POST"):
        for path in ("/admin/v1/rollouts", "/admin/v1/rollouts/half:promote"):
            assert server.http(method, path, b"{}", own)[0] == 404
    for name in DATA_PATHS:
        assert server.http("POST", f"/dashboard/api/{name}", b"{}", own)[0] == 405


def test_other_pages_are_not_offered_without_the_flag():
    with DashboardServer("--enable_dashboard=false", models=[Model("m", HALF_PLUS_TWO)]) as server:
        for path in ("/dashboard", *(f"/dashboard/api/{name}" for name in DATA_PATHS)):
            assert server.http("GET", path)[0] == 404
        assert server.http("GET", "/dashboard", port=server.admin_port)[0] == 200


@pytest.mark.parametrize("path", ["/dashboard", "/dashboard/"])
@pytest.mark.parametrize("port", ["rest_port", "admin_port"])
def test_browsers_are_told_to_allow_nothing_else(server, port, path):
    status, headers, body = server.http("GET", path, port=getattr(server, port))
    assert status == 200
    assert b"half" not in body  # the page itself has no data
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers.get_all("Cache-Control") == ["no-store"]
    assert headers.get_all("X-Frame-Options") == ["DENY"]
    status, headers, body = server.http("GET", "/dashboard/api/config", port=getattr(server, port))
    assert "name: half" in json.loads(body)["yaml"]
    assert headers["Content-Type"] == "application/json"
    assert headers["X-Content-Type-Options"] == "nosniff"


class Stream:
    """A client of the stream, which has read the head of the reply."""

    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._socket.sendall(b"GET /dashboard/api/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        self._read = b""
        self.status = int(self._until(b"\r\n\r\n").split()[1])

    def _until(self, end):
        while end not in self._read:
            part = self._socket.recv(65536)
            assert part, f"the server has ended the stream after {self._read!r}"
            self._read += part
        found, self._read = self._read.split(end, 1)
        return found

    def event(self):
        return json.loads(self._until(b"\n\n").removeprefix(b"data: "))

    def rest(self):
        """What comes until the server ends the stream."""
        while part := self._socket.recv(65536):
            self._read += part
        return self._read

    def close(self):
        self._socket.close()


def threads(server):
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"Threads:\s*(\d+)", status)[1])


def open_files(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def wait(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.03)


def test_streams_are_bounded_and_hold_neither_threads_nor_files():
    with DashboardServer(models=[Model("m", HALF_PLUS_TWO)]) as server:
        assert server.http("GET", "/dashboard")[0] == 200
        threads_before, files_before = threads(server), open_files(server)
        streams = [Stream(server.rest_port) for _ in range(MAX_STREAMS)]
        assert Stream(server.rest_port).status == 503
        assert {stream.status for stream in streams} == {200}
        assert all(stream.event()["models"][0]["name"] == "m" for stream in streams)
        assert threads(server) < threads_before + MAX_STREAMS // 2
        # Whoever fills the REST port leaves the admin address to others.
        admin = Stream(server.admin_port)
        assert admin.status == 200 and not admin.event()["read_only"]

        for stream in (*streams, admin):
            stream.close()
        wait(lambda: open_files(server) <= files_before)
        wait(lambda: Stream(server.rest_port).status == 200)

        last = [Stream(port) for port in (server.rest_port, server.admin_port)]
        assert server.stop() == 0
        for stream in last:
            stream.rest()  # ends
