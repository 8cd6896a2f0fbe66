"""A recorded trace in the trace viewer of Chrome and TensorBoard, in a browser."""

import functools
import http.server
import json
import pathlib
import subprocess
import threading

import pytest

from clients.server import REPOSITORY, binary

# What the viewer makes of a trace: how often it has an event of each title, the threads of each
# process, the depth at which events lie, and what it found wrong.
IMPORT = """(() => {
  const model = new tr.Model();
  new tr.importer.Import(model).importTraces([%s]);
  const titles = {}, parents = {};
  for (const event of model.getDescendantEvents()) {
    titles[event.title] = (titles[event.title] || 0) + 1;
    if (event.parentSlice) parents[event.title] = event.parentSlice.title;
  }
  const threads = Object.values(model.processes).map(
      process => Object.values(process.threads).map(thread => thread.name));
  return {titles, parents, threads, warnings: model.importWarnings.map(w => w.message)};
})()"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


@pytest.fixture(name="viewer")
def _viewer(browser):
    """A page with the viewer, from the files of TensorBoard's plugin."""
    python = subprocess.run(
        [REPOSITORY / "scripts" / "python_env", "tensorboard"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()
    package = subprocess.run(
        [python, "-c", "import xprof; print(xprof.__path__[0])"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()
    files = functools.partial(Quiet, directory=pathlib.Path(package) / "static")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), files) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.open(f"http://127.0.0.1:{server.server_port}/trace_viewer_index.html")
        page.wait("!!tr.importer.Import")
        yield page
        page.close()
        server.shutdown()


def test_a_chrome_trace_opens(server, viewer, tmp_path):
    path = tmp_path / "trace.json"
    command = [binary(), "profile", server.grpc_address, f"--output={path}", "--duration=2"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as profile:
        while profile.poll() is None:
            status, _, _ = server.http(
                "POST", "/v1/models/half:predict", b'{"instances": [4.0]}'
            )
            assert status == 200
    assert profile.returncode == 0
    seen = viewer.value(IMPORT % json.dumps(path.read_text(encoding="utf-8")))
    assert seen["warnings"] == []
    (threads,) = seen["threads"]
    assert any(name.startswith("http") for name in threads), threads
    events = [e for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X"]
    assert sum(seen["titles"].values()) >= len(events) > 0
    assert seen["titles"]["predict half/123"] > 0
    assert seen["parents"]["decode"] == "predict half/123"
    assert seen["parents"]["run half/123"] == "run"
