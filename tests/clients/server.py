"""Starts `tessera serve` for tests and for the checkers of tests/conformance.

    with Server(models=[Model("half", "/path/to/half_plus_two")]) as server:
        ... server.grpc_address, server.rest_port ...
    assert server.exit_code == 0

The binary is bazel-bin/tessera of this repository; TESSERA_BINARY names another one.
"""

import dataclasses
import http.client
import itertools
import os
import pathlib
import random
import signal
import socket
import subprocess
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "tests" / "data"


def binary():
    """The server's binary. Raises StartError where it was not built."""
    path = pathlib.Path(os.environ.get("TESSERA_BINARY", REPOSITORY / "bazel-bin" / "tessera"))
    if not path.is_file():
        raise StartError(
            f"{path} is not there: run `bazel build //:tessera`, or set TESSERA_BINARY"
        )
    return path


class StartError(Exception):
    """The server ended, or was not ready in time; the text ends with what it printed."""


@dataclasses.dataclass
class Model:
    """One entry of the model configuration. Without versions the newest one is served."""

    name: str
    base_path: str | os.PathLike
    versions: list[int] = dataclasses.field(default_factory=list)
    labels: dict[str, int] = dataclasses.field(default_factory=dict)

    def text(self):
        """The entry as text proto."""
        lines = [
            f'name: "{self.name}"',
            f'base_path: "{os.path.abspath(self.base_path)}"',
            'model_platform: "tensorflow"',
        ]
        if self.versions:
            numbers = ", ".join(str(version) for version in self.versions)
            lines.append(f"model_version_policy {{ specific {{ versions: [{numbers}] }} }}")
        for label, version in self.labels.items():
            lines.append(f'version_labels {{ key: "{label}" value: {version} }}')
        return "config { " + " ".join(lines) + " }"


def config_text(models):
    """A ModelServerConfig as text proto."""
    return "model_config_list { " + " ".join(model.text() for model in models) + " }\n"


# Below the range from which the kernel takes the ports of outgoing connections, so that no client of
# a test running beside this one takes a port before its server does.
_PORTS = range(15000, 32000)
_PORTS_IN_TURN = itertools.cycle(random.sample(_PORTS, len(_PORTS)))


def free_port():
    """A TCP port nobody listens on, another one each time until all have had their turn."""
    for port in _PORTS_IN_TURN:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            try:
                probe.bind(("0.0.0.0", port))
                return port
            except OSError:
                continue


def environment():
    """That of a server whose log is read, whatever modules that use TensorFlow ask of theirs."""
    variables = dict(os.environ)
    variables.pop("TF_CPP_MIN_LOG_LEVEL", None)
    return variables


class Server:
    """One process of `tessera serve` on free ports, from ready to stopped.

    A load that fails is not tried again (upstream's default would wait minutes) and new versions
    are looked for every second; `flags` come last, so they override these defaults. `program`
    replaces the words that start a server, `tessera serve`. With `tls`, an ssl.SSLContext, REST is
    asked by HTTPS.
    """

    def __init__(self, *flags, models=None, ready_timeout=120, program=None, tls=None):
        self.grpc_port = free_port()
        self.rest_port = free_port()
        self.grpc_address = f"127.0.0.1:{self.grpc_port}"
        self.exit_code = None
        self._tls = tls
        self._folder = tempfile.TemporaryDirectory(prefix="tessera-server-")
        self._log = pathlib.Path(self._folder.name) / "log"
        command = [
            *(program or [str(binary()), "serve"]),
            f"--port={self.grpc_port}",
            f"--rest_api_port={self.rest_port}",
            "--max_num_load_retries=0",
            "--file_system_poll_wait_seconds=1",
        ]
        if models is not None:
            config = pathlib.Path(self._folder.name) / "models.config"
            config.write_text(config_text(models), encoding="utf-8")
            command.append(f"--model_config_file={config}")
        self.command = command + list(flags)
        with open(self._log, "wb") as log:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment(),
            )
        try:
            self._wait_until_ready(ready_timeout)
        except BaseException:
            self.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def log(self, last_lines=40):
        """The end of what the server printed, on both of its outputs."""
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-last_lines:])

    def is_running(self):
        return self.process.poll() is None

    def stop(self, seconds=15):
        """Sends SIGTERM and returns the exit code; a server that does not end in time is killed."""
        if self.exit_code is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.exit_code = self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.exit_code

    def kill(self):
        self.process.kill()
        self.exit_code = self.process.wait()

    def http(self, method, path, body=None, headers=None, timeout=60, port=None):
        """One request on a connection of its own, to REST by default: (status, headers, body)."""
        address = ("127.0.0.1", port or self.rest_port)
        if self._tls is not None and port is None:
            connection = http.client.HTTPSConnection(*address, timeout=timeout, context=self._tls)
        else:
            connection = http.client.HTTPConnection(*address, timeout=timeout)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def _wait_until_ready(self, timeout):
        deadline = time.monotonic() + timeout
        seen = "the REST port never opened"
        while time.monotonic() < deadline:
            if not self.is_running():
                raise StartError(
                    f"the server ended with code {self.process.returncode}:\n{self.log()}"
                )
            try:
                status, _, body = self.http("GET", "/readyz", timeout=5)
                if status == 200:
                    return
                seen = f"/readyz answered {status} {body[:200]!r}"
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.05)
        raise StartError(f"not ready after {timeout} s, {seen}:\n{self.log()}")
