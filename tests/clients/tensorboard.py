"""TensorBoard with its profile plugin, as a process that a test asks over HTTP."""

import gzip
import json
import re
import subprocess
import threading
import urllib.parse
import urllib.request

from clients.server import REPOSITORY

_URL = re.compile(r"http://127\.0\.0\.1:(\d+)")


class TensorBoard:
    """TensorBoard on a folder of logs and a free port, from ready to stopped."""

    def __init__(self, logdir):
        python = subprocess.run(
            [REPOSITORY / "scripts" / "python_env", "tensorboard"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        self._printed = []
        self.process = subprocess.Popen(
            # fmt: off
            [python, "-m", "tensorboard.main", "--logdir", str(logdir), "--load_fast=false",
             "--host=127.0.0.1", "--port=0"],
            # fmt: on
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.port = None
        for line in self.process.stdout:
            self._printed.append(line)
            if found := _URL.search(line):
                self.port = int(found[1])
                break
        if self.port is None:
            self.process.wait()
            raise RuntimeError("TensorBoard did not start: " + "".join(self._printed))
        self._reader = threading.Thread(target=self._printed.extend, args=(self.process.stdout,))
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self._reader.join()
        self.process.stdout.close()

    def ask(self, page, plugin="profile", **query):
        """A JSON page of a plugin."""
        address = f"http://127.0.0.1:{self.port}/data/plugin/{plugin}/{page}"
        with urllib.request.urlopen(f"{address}?{urllib.parse.urlencode(query)}", timeout=60) as r:
            body = r.read()
        return json.loads(gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body)
