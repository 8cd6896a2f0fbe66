"""Fifty versions come, take a label over and go, while eight clients ask without a pause.

Version N is half_plus_two with another offset: y = x/2 + N, so that every answer says which version
gave it. TESSERA_SWAP_VERSIONS sets another number of versions, for slow builds
(scripts/test_sanitized).
"""

import collections
import concurrent.futures
import http.client
import itertools
import json
import os
import pathlib
import shutil
import threading
import time

import grpc
import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow_serving.apis import model_management_pb2

from clients.client import SECONDS, Client, array, predict_request
from clients.conftest import HALF_PLUS_TWO
from clients.fault_steps import wait_for_state, wait_until
from clients.server import Model, Server, config_text

VERSIONS = int(os.environ.get("TESSERA_SWAP_VERSIONS", "50"))
X = [1.0, 2.0, 5.0]
# Threads that have nothing to do end after ten seconds.
IDLE_SECONDS = 12


def make_version(number, folder):
    """Writes y = x/2 + number as a version beside the versions, and moves it there as a whole."""
    made = folder / f"{number}.making"
    shutil.copytree(HALF_PLUS_TWO / "00000123", made)
    shutil.rmtree(made / "variables")
    (made / "variables").mkdir()
    tf.raw_ops.SaveV2(
        prefix=str(made / "variables" / "variables"),
        tensor_names=["a", "b", "c"],
        shape_and_slices=["", "", ""],
        tensors=[tf.constant(0.5), tf.constant(float(number)), tf.constant(3.0)],
    )
    made.rename(folder / str(number))


class Versions:
    """What may answer at a time: kept ahead of the server for what comes, behind it for what goes.

    A request that was under way from one reading of `bounds()` to another may be answered by any
    version from the lower bound of the first to the upper bound of the second.
    """

    def __init__(self, first):
        self._lock = threading.Lock()
        self._oldest = self._newest = first
        self._label = (first, first)

    def bounds(self, kind):
        with self._lock:
            return self._label if kind == "label" else (self._oldest, self._newest)

    def pushing(self, number):
        with self._lock:
            self._newest = number

    def available(self, number):
        """The server says that it is: from now on no older one may answer for the latest."""
        with self._lock:
            self._oldest = number

    def relabelling(self, number):
        with self._lock:
            self._label = (self._label[0], number)

    def relabelled(self, number):
        with self._lock:
            self._label = (number, number)


class Clients:
    """Eight clients, by turns gRPC and REST, which ask for the latest version or for the label."""

    def __init__(self, server, versions):
        self._server = server
        self._versions = versions
        self._stopping = threading.Event()
        self._pool = concurrent.futures.ThreadPoolExecutor(max_workers=8)
        self._asking = {}  # client: the set of versions that answered it
        self.failures = []

    def __enter__(self):
        protocols = (self._grpc, self._rest)
        for protocol, kind, _ in itertools.product(protocols, ("latest", "label"), range(2)):
            answers = set()
            self._asking[self._pool.submit(self._ask, protocol, kind, answers)] = answers
        return self

    def __exit__(self, *_):
        self._stopping.set()
        self._pool.shutdown()
        for client in self._asking:
            client.result()  # raises what it died of
        assert self.failures == []

    def wait_for(self, number):
        """Until every client was answered by this version."""
        wait_until(
            lambda: self.failures or all(number in answers for answers in self._asking.values()),
            f"all clients have asked {number}",
        )

    def _ask(self, protocol, kind, answers):
        for answer in protocol(kind):
            earliest, _ = self._versions.bounds(kind)
            if self._stopping.is_set():
                return
            try:
                version, named = answer()
            except (grpc.RpcError, OSError, http.client.HTTPException, AssertionError) as error:
                self.failures.append(f"{kind}: {error!r}")
                continue
            _, last = self._versions.bounds(kind)
            if not earliest <= version <= last:
                self.failures.append(f"{kind}: {version} answered, not {earliest} to {last}")
            if named not in (None, version):
                self.failures.append(f"{kind}: {version} answered in the name of {named}")
            answers.add(version)

    def _grpc(self, kind):
        spec = {"label": "stable"} if kind == "label" else {}
        request = predict_request("m", {"x": np.array(X, np.float32)}, **spec)
        with Client(self._server) as client:

            def answer():
                response = client.predict(request)
                return version_of(array(response.outputs["y"])), response.model_spec.version.value

            while True:
                yield answer

    def _rest(self, kind):
        path = "/v1/models/m" + ("/labels/stable" if kind == "label" else "") + ":predict"
        body = json.dumps({"instances": X})
        connection = http.client.HTTPConnection("127.0.0.1", self._server.rest_port, timeout=60)

        def answer():
            connection.request("POST", path, body)
            response = connection.getresponse()
            text = response.read()
            assert response.status == 200, f"{response.status} {text!r}"
            return version_of(np.array(json.loads(text)["predictions"])), None

        try:
            while True:
                yield answer
        finally:
            connection.close()


def version_of(y):
    """The version whose answer to X this is: all elements must say the same."""
    offsets = set((y - np.array(X) / 2).tolist())
    assert len(offsets) == 1 and min(offsets) in range(1, VERSIONS + 1), f"no version's answer: {y}"
    return int(offsets.pop())


def configure(client, folder, label):
    """Sets the label and, since a configuration makes the server look at once, shows it `folder`."""
    request = model_management_pb2.ReloadConfigRequest()
    text_format.Parse(config_text([Model("m", folder, labels={"stable": label})]), request.config)
    request.config.model_config_list.config[0].model_version_policy.all.SetInParent()
    response = client.models.HandleReloadConfigRequest(request, timeout=SECONDS)
    assert response.status.error_code == 0, response.status.error_message


def swap(client, folder, versions, clients, number):
    """Pushes a version, moves the label to it and removes the one before, which must be let go.

    The label and the removal come in one configuration every other time: who asked for the label
    just before must not find that its version has gone. Returns when all clients have been answered
    by the version.
    """
    make_version(number, folder)
    versions.pushing(number)
    configure(client, folder, label=number - 1)
    wait_for_state(client, "m", number, "AVAILABLE")
    versions.available(number)
    versions.relabelling(number)
    if number % 2:
        configure(client, folder, label=number)
        versions.relabelled(number)
    (folder / str(number - 1)).rename(folder / f"{number - 1}.removed")
    configure(client, folder, label=number)
    versions.relabelled(number)
    wait_for_state(client, "m", number - 1, "END")
    shutil.rmtree(folder / f"{number - 1}.removed")
    clients.wait_for(number)


class Process:
    """What the server holds of the system."""

    def __init__(self, server):
        self._folder = pathlib.Path("/proc") / str(server.process.pid)

    def settled(self):
        """Its threads by name and its descriptors by kind, once threads without work have ended."""
        held = None
        while held != (held := (self._threads(), self._descriptors())):
            time.sleep(IDLE_SECONDS)
        return held

    def mapped(self, folder):
        """Files under `folder` that are mapped."""
        lines = self._read(self._folder / "maps").splitlines()
        return {line[line.index(str(folder)) :] for line in lines if str(folder) in line}

    def _threads(self):
        names = [self._read(task / "comm") for task in (self._folder / "task").iterdir()]
        return collections.Counter(name for name in names if name)

    def _descriptors(self):
        kinds = []
        for descriptor in (self._folder / "fd").iterdir():
            try:
                kinds.append(os.readlink(descriptor).split(":")[0])
            except FileNotFoundError:
                pass
        return collections.Counter(kinds)

    @staticmethod
    def _read(path):
        try:
            return path.read_text().strip()
        except (FileNotFoundError, ProcessLookupError):
            return ""


@pytest.fixture(name="folder")
def _folder(tmp_path):
    folder = tmp_path / "m"
    folder.mkdir()
    make_version(1, folder)
    return folder


def test_fifty_versions_come_and_go_under_load(folder):
    with Server("--file_system_poll_wait_seconds=0", models=[Model("m", folder)]) as server:
        process = Process(server)
        with Client(server) as client:
            versions = Versions(1)
            configure(client, folder, label=1)
            # Whatever is made once, threads and all, is made before the first count.
            with Clients(server, versions) as clients:
                clients.wait_for(1)
                swap(client, folder, versions, clients, 2)
            before = process.settled()

            with Clients(server, versions) as clients:
                for number in range(3, VERSIONS + 1):
                    swap(client, folder, versions, clients, number)

            assert process.settled() == before
            assert process.mapped(folder) <= {
                str(file) for file in (folder / str(VERSIONS)).rglob("*")
            }
            states = client.version_states("m")
            assert {number: entry[0] for number, entry in states.items()} == {
                number: "AVAILABLE" if number == VERSIONS else "END" for number in states
            }
        assert server.stop(seconds=60) == 0, server.log()
        assert "Sanitizer" not in server.log(last_lines=10000), server.log(last_lines=10000)
