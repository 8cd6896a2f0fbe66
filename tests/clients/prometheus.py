"""Starts a Prometheus that scrapes a server, with the rules of config/prometheus.

    with Prometheus(server, tmp_path) as prometheus:
        prometheus.await_scrapes(3)
        prometheus.query('up{job="tessera"}')

It runs as a process of the test's own, on a free port, and keeps its data in the given folder.
"""

import json
import pathlib
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from clients.server import REPOSITORY, free_port

CONFIG = REPOSITORY / "config" / "prometheus"
_INTERVAL = "200ms"


class Prometheus:
    """One process, from ready to stopped."""

    def __init__(self, server, folder, seconds=60):
        folder = pathlib.Path(folder)
        self._port = free_port()
        self._log = folder / "prometheus.log"
        config = (CONFIG / "prometheus.yml").read_text(encoding="utf-8")
        config = _replaced(r"tessera:8501", f"127.0.0.1:{server.rest_port}", config)
        config = _replaced(r"(?<=_interval: )15s", _INTERVAL, config)
        config = _replaced(r"- alerts.yml", f"- {CONFIG / 'alerts.yml'}", config)
        (folder / "prometheus.yml").write_text(config, encoding="utf-8")
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={folder / 'prometheus.yml'}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self._port}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            self._await(self._is_ready, seconds, "ready")
        except BaseException:
            self.stop()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self._process.kill()
        self._process.wait()

    def query(self, expression):
        """The samples that an expression has now: [({label: text}, number)]."""
        result = self._get("/api/v1/query", query=expression)["result"]
        return [(sample["metric"], float(sample["value"][1])) for sample in result]

    def rules(self):
        """The alert rules, by name, as Prometheus evaluated them last."""
        groups = self._get("/api/v1/rules")["groups"]
        return {rule["name"]: rule for group in groups for rule in group["rules"]}

    def await_scrapes(self, count, seconds=60):
        """Waits until the server has been scraped so many times more."""
        seen = self._scrapes()
        self._await(lambda: self._scrapes() >= seen + count, seconds, f"done with {count} scrapes")

    def await_alert(self, name, seconds=60):
        """Waits until an alert fires, and returns it."""
        self._await(lambda: self.rules()[name]["alerts"], seconds, f"raising {name}")
        return self.rules()[name]["alerts"][0]

    def _scrapes(self):
        counts = self.query('count_over_time(up{job="tessera"}[10m])')
        return counts[0][1] if counts else 0

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/-/ready", timeout=5):
                return True
        except OSError:
            return False

    def _get(self, path, **arguments):
        url = f"http://127.0.0.1:{self._port}{path}?{urllib.parse.urlencode(arguments)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as reply:
                return json.load(reply)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{arguments}: {error.read().decode()}") from error

    def _await(self, condition, seconds, what):
        deadline = time.monotonic() + seconds
        while not condition():
            ended = self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                log = self._log.read_text(encoding="utf-8", errors="replace")[-2000:]
                raise AssertionError(f"Prometheus is not {what} after {seconds} s:\n{log}")
            time.sleep(0.05)


def _replaced(pattern, replacement, text):
    text, count = re.subn(pattern, replacement, text)
    assert count > 0, f"no {pattern} in the sample"
    return text
