"""The binary that writes files of training jobs for tests."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(
    os.environ.get("TESSERA_TRAINING_FILES", ROOT / "bazel-bin/tests/training/training_files"))


def write(*arguments, fails=False):
    """Runs one command of training_files.cc; returns what it printed."""
    done = subprocess.run([str(BINARY), *map(str, arguments)], capture_output=True, text=True,
                          timeout=60, check=False)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr
