"""Takes the pictures of the dashboard in docs/images: see scripts/screenshots."""

import json
import pathlib
import shutil
import sys
import tempfile
import threading
import time

from clients.conftest import DIGITS, HALF_PLUS_TWO
from clients.server import DATA
from dashboard.browser import Browser
from dashboard.conftest import DashboardServer
from rollouts.version_folders import push, tear

CONFIG = """
file_system_poll_wait_seconds: 1
version_settle_seconds: 0
models:
  - {{name: bert, base_path: {data}/models/bert_tiny}}
  - {{name: ranking, base_path: {folder}/ranking}}
  - name: digits
    base_path: {folder}/digits
    rollout:
      steps:
        - {{share_percent: 1, duration_seconds: 5}}
        - {{share_percent: 20, duration_seconds: 600}}
        - {{share_percent: 100, duration_seconds: 60}}
      mirror_percent: 20
      conditions: {{min_requests: 20, max_p99_ratio: 20, min_top1_agreement: 0.5}}
batching: {{mode: adaptive, max_batch_size: 16}}
"""
SECONDS = 75  # of requests before the first picture, so that charts have something to show


class Asking(threading.Thread):
    """Sends one request after the other, with pauses that swell and ebb."""

    def __init__(self, server, model, bodies, pause):
        super().__init__(daemon=True)
        self._server = server
        self._model = model
        self._bodies = bodies
        self._pause = pause
        self.stopping = threading.Event()

    def run(self):
        count = 0
        while not self.stopping.is_set():
            body = self._bodies[count % len(self._bodies)]
            self._server.http("POST", f"/v1/models/{self._model}:predict", body)
            count += 1
            time.sleep(self._pause * (1.5 - time.monotonic() % 30 / 30))


def requests():
    """Bodies by model; a few of them are wrong."""
    samples = json.loads((DIGITS / "samples.json").read_text(encoding="utf-8"))["instances"]
    digits = [json.dumps({"instances": [sample]}).encode() for sample in samples[:20]]
    names = ("token_ids", "segment_ids", "padding_mask")
    bert = {"instances": [{name: [1] * 16 for name in names}]}
    return {
        "digits": digits,
        "ranking": [b'{"instances": [1.0, 2.0]}'] * 40 + [b'{"instances": ["x"]}'],
        "bert": [json.dumps(bert).encode()],
    }


def take(page, folder, name, view, height):
    page.value(f"go('{view}', false)")
    page.wait(f"document.querySelector('#panel-{view}').checkVisibility()")
    page.screenshot(folder / f"dashboard-{name}.png", height)
    size = (folder / f"dashboard-{name}.png").stat().st_size
    assert size < 200_000, f"{name} has {size} bytes"


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        push(DIGITS / "1", work / "digits", 1)
        push(HALF_PLUS_TWO / "00000123", work / "ranking", 41)
        config = work / "config.yaml"
        config.write_text(CONFIG.format(folder=work, data=DATA), encoding="utf-8")
        with DashboardServer(f"--config={config}") as server, Browser() as browser:
            page = browser.open(server.url, width=1200)
            page.prefer(prefers_reduced_motion="reduce")
            clients = [
                Asking(server, model, bodies, pause)
                for (model, bodies), pause in zip(requests().items(), (0.004, 0.002, 0.02))
            ]
            for client in clients:
                client.start()
            page.wait("ticks.length > 10")
            push(DIGITS / "2", work / "digits", 2)
            push(HALF_PLUS_TWO / "00000123", work / "ranking", 42)
            torn = work / "torn"
            shutil.copytree(DIGITS / "1", torn)
            tear(torn)
            push(torn, work / "ranking", 43)
            page.wait(f"ticks.length > {SECONDS}", 3 * SECONDS)
            page.wait("now.rollouts[0].share_percent === 20", 120)
            take(page, folder, "overview", "overview", 1080)
            take(page, folder, "history", "history", 900)
            take(page, folder, "rollout", "rollouts", 700)
            page.value("go('request')")
            page.choose("#f-model", "digits")
            page.wait("document.querySelector('#f-body').value.includes('instances')")
            page.click("#f-send")
            page.wait("!document.querySelector('#f-status').hidden")
            take(page, folder, "request", "request", 680)
            page.prefer(prefers_color_scheme="dark", prefers_reduced_motion="reduce")
            page.resize(390, 844)
            take(page, folder, "narrow", "overview", 844)
            for client in clients:
                client.stopping.set()
            for client in clients:
                client.join()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
