"""What clients notice while a new version is tried: part of `scripts/bench rollout`.

For each kind of version, a server of a good version is asked at a fixed rate by two open loops: one
names the label `stable`, the other names no version, so that the candidate gets a share of it. The
latencies before the version is pushed stand beside those from the push to the decision, loading
included. Several pushes of a kind are taken together, each with as long a time before it, because the
slowest hundredth of the requests of one decision are a handful.
"""

import json
import statistics
import time

import numpy as np

from load_generator import Case, Load, answers_per_second  # puts tests/ on the path
from swapped_models import response

from clients.client import predict_request
from clients.server import Server, free_port
from rollouts import rollout_models
from rollouts.version_folders import push, tear

CONFIG = """
file_system_poll_wait_seconds: 1
version_settle_seconds: 0
rollout_state_file: {state}
models:
  - name: m
    base_path: {base_path}
    rollout:
      steps: [{{share_percent: 10, duration_seconds: {seconds}}}]
      mirror_percent: {mirror}
      conditions: {{min_requests: 50, window_seconds: 60, {limits}}}
"""
LIMITS = {
    "slow": "max_p50_ratio: 2",
    "wrong": "max_p99_ratio: 1000, max_mean_abs_difference: 0.5",
}
OTHER_LIMITS = "max_p99_ratio: 1000"
KINDS = rollout_models.KINDS + ("torn",)
X, Y = [1.0, 2.0, 3.0], [3.0, 5.0, 7.0]
DECISION_SECONDS = 300
HEAD = ["new version", "decision after", "asked", "requests before / during",
        "p50, ms before → during (ratio)", "p99, ms before → during (ratio)", "lost", "wrong"]


class Trial:
    """A server whose model gets a new version of one kind."""

    def __init__(self, folder, versions, kind, seconds):
        self._folder = folder / f"trial-{kind}"
        self._folder.mkdir()
        self._versions = versions
        self._kind = kind
        self._latest = 1
        push(versions / "good", self._folder / "m", self._latest)
        config = self._folder / "config.yaml"
        config.write_text(
            CONFIG.format(
                state=self._folder / "state",
                base_path=self._folder / "m",
                seconds=seconds,
                mirror=100 if kind == "wrong" else 0,
                limits=LIMITS.get(kind, OTHER_LIMITS),
            ),
            encoding="utf-8",
        )
        self._admin_port = free_port()
        self.server = Server(f"--config={config}", f"--admin_port={self._admin_port}")

    def case(self, name, **spec):
        request = predict_request("m", {"x": np.array(X, np.float32)}, **spec)
        return Case(self._folder, name, request, [response({"y": np.array(Y, np.float32)})])

    def _status(self):
        _, _, body = self.server.http("GET", "/admin/v1/rollouts/m", port=self._admin_port)
        return json.loads(body)

    def push(self):
        """Pushes the version once more. Returns the decision and the seconds until it was made."""
        self._latest += 1
        push(self._versions / self._kind, self._folder / "m", self._latest)
        start = time.monotonic()
        while True:
            status = self._status()
            if status["stable_version"] == str(self._latest):
                return "promoted", time.monotonic() - start
            if str(self._latest) in status["rejected_versions"]:
                return "rolled back", time.monotonic() - start
            if time.monotonic() - start > DECISION_SECONDS:
                raise TimeoutError(f"nothing is decided: {status}\n{self.server.log()}")
            time.sleep(0.05)


def save_versions(folder):
    for kind in rollout_models.KINDS:
        rollout_models.save(folder / kind, kind)
    rollout_models.save(folder / "torn", "good")
    tear(folder / "torn")


def report(row, folder, options):
    """Prints a line for each kind of version and each of both loops."""
    versions = folder / "versions"
    versions.mkdir()
    save_versions(versions)
    row(HEAD)
    row(["---"] * len(HEAD))
    for kind in options.kinds.split(","):
        trial = Trial(folder, versions, kind, 2 * options.seconds)
        decisions = []
        with trial.server as server:
            stable, plain = trial.case("stable", label="stable"), trial.case("plain")
            rate = options.rate_share * answers_per_second(server, plain, in_flight=2, seconds=2) / 2
            loads = {"stable": Load(server, stable, rate), "no version": Load(server, plain, rate)}
            with loads["stable"], loads["no version"]:
                for _ in range(options.pushes):
                    time.sleep(1)
                    for load in loads.values():
                        load.window("before")
                    time.sleep(2 * options.seconds)
                    for load in loads.values():
                        load.window("during")
                    decisions.append(trial.push())
                    for load in loads.values():
                        load.window("")
        (decision,) = {decision for decision, _ in decisions}
        after = statistics.median(seconds for _, seconds in decisions)
        for asked, load in loads.items():
            before, during = (load.summary["windows"][name] for name in ("before", "during"))
            columns = [kind, f"{decision}, {after:.1f} s", f"{asked}, {rate:.0f}/s",
                       f"{before['requests']} / {during['requests']}"]
            for key in ("p50_us", "p99_us"):
                columns.append(f"{before[key] / 1e3:.2f} → {during[key] / 1e3:.2f} "
                               f"({during[key] / before[key]:.2f})")
            row(columns + [str(during["lost"]), str(during["wrong"])])
