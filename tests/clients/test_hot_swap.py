"""A new version arrives, and an old one comes back, while requests go on."""

import http.client
import json
import shutil
import threading
import time

import grpc
import numpy as np

from clients.client import Client, predict_request
from clients.conftest import DIGITS
from clients.server import Model, Server


class Load:
    """Requests without pause, half of them over gRPC and half over REST, until stopped."""

    def __init__(self, server, images):
        self._server = server
        self._request = predict_request("digits", {"image": np.array(images, np.float32)})
        self._body = json.dumps({"instances": images}).encode()
        self._stopping = threading.Event()
        self.failures = []
        self.versions = []  # as gRPC's answers name them, in order
        self.rest_answers = 0
        self._threads = [threading.Thread(target=self._ask_grpc) for _ in range(2)]
        self._threads += [threading.Thread(target=self._ask_rest) for _ in range(2)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, version, seconds=30):
        deadline = time.monotonic() + seconds
        while not self.versions or self.versions[-1] != version:
            assert time.monotonic() < deadline, f"version {version} never answered"
            time.sleep(0.02)

    def _ask_grpc(self):
        with Client(self._server) as client:
            while not self._stopping.is_set():
                try:
                    self.versions.append(client.predict(self._request).model_spec.version.value)
                except grpc.RpcError as error:
                    self.failures.append(f"{error.code()}: {error.details()}")

    def _ask_rest(self):
        while not self._stopping.is_set():
            try:
                status, _, body = self._server.http("POST", "/v1/models/digits:predict", self._body)
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
                continue
            if status == 200:
                self.rest_answers += 1
            else:
                self.failures.append(f"{status}: {body!r}")


def publish(version, folder):
    """Copies beside, then renames: the server sees all of a version or nothing."""
    shutil.copytree(DIGITS / str(version), folder / f"{version}.tmp")
    (folder / f"{version}.tmp").rename(folder / str(version))


def test_no_request_fails_while_versions_change(tmp_path, samples):
    publish(1, tmp_path)
    with Server(models=[Model("digits", tmp_path)]) as server:
        with Load(server, samples[0]) as load:
            load.wait_for(1)
            publish(2, tmp_path)
            load.wait_for(2)
            shutil.move(tmp_path / "2", tmp_path / "away")
            load.wait_for(1)
        assert load.failures == []
        assert set(load.versions) == {1, 2}
        assert load.rest_answers > 10
