"""Pipelines of tf.data that TensorFlow runs now, element by element against this program's."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("tensorflow")

from clients.server import REPOSITORY  # noqa: E402


def test_live_pipelines_give_tensorflows_elements_and_errors(tmp_path):
    # Recording needs TensorFlow's own kernels, which are chosen when a process starts.
    environment = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": "0", "TF_CPP_MIN_LOG_LEVEL": "3",
                   "AUTOGRAPH_VERBOSITY": "0", "PYTHONPATH": str(REPOSITORY / "tests")}
    made = subprocess.run([sys.executable, "-m", "conformance.live_pipelines", str(tmp_path)],
                          cwd=REPOSITORY, env=environment, capture_output=True, text=True,
                          timeout=600, check=False)
    assert made.returncode == 0, made.stderr[-3000:]
    assert len(list((tmp_path / "graphs").iterdir())) > 200
    checker = os.environ.get("TESSERA_CHECK_OPS",
                             REPOSITORY / "bazel-bin" / "tests" / "conformance" / "check_ops")
    checked = subprocess.run([checker, str(tmp_path)], cwd=REPOSITORY, capture_output=True,
                             text=True, timeout=600, check=False)
    assert checked.returncode == 0, checked.stdout
    assert ", 0 failed, 0 skipped" in checked.stdout
