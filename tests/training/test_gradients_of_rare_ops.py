"""AddGradients() against TensorFlow's gradients, for ops that no recorded graph differentiates."""

import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("tensorflow")

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECKER = pathlib.Path(os.environ.get(
    "TESSERA_CHECK_GRADIENTS", ROOT / "bazel-bin/tests/conformance/check_gradients"))
SECONDS = 300


def test_rare_ops_have_the_gradients_of_tensorflow(tmp_path):
    # A process of its own, which may choose TensorFlow's kernels.
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests"), "TF_ENABLE_ONEDNN_OPTS": "0"}
    recorded = subprocess.run(
        [sys.executable, "-m", "conformance.rare_gradient_cases", str(tmp_path)], env=environment,
        cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert recorded.returncode == 0, recorded.stderr
    checked = subprocess.run([str(CHECKER), str(tmp_path)], capture_output=True, text=True,
                             timeout=SECONDS, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
