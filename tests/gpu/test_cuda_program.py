"""A program that was built with --config=cuda, on machines with and without a GPU.

scripts/gpu/check builds it and names it by TESSERA_CUDA_BINARY; without that, this is skipped.
"""

import ctypes
import json
import os
import pathlib
import subprocess

import pytest

from clients.server import DATA, Model, Server

BINARY = os.environ.get("TESSERA_CUDA_BINARY")
pytestmark = pytest.mark.skipif(BINARY is None, reason="needs a build with --config=cuda")


def driver_is_there():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def serve(*flags):
    return Server(*flags, models=[Model("digits", DATA / "digits")], program=[BINARY, "serve"])


def assert_serves(server):
    samples = (DATA / "digits" / "samples.json").read_bytes()
    status, _, answer = server.http("POST", "/v1/models/digits:predict", samples)
    assert status == 200, answer
    assert len(json.loads(answer)["predictions"]) == len(json.loads(samples)["instances"])


@pytest.mark.skipif(driver_is_there(), reason="needs a machine without an NVIDIA driver")
def test_without_a_driver_it_says_so_and_serves_on_the_cpu():
    with serve() as server:
        assert_serves(server)
        assert "no GPU is used: there is no NVIDIA driver: libcuda.so.1" in server.log()
    assert server.exit_code == 0


@pytest.mark.skipif(driver_is_there(), reason="needs a machine without an NVIDIA driver")
def test_gpu_options_are_accepted_without_a_gpu(tmp_path):
    config = tmp_path / "session.config"
    config.write_text(
        "allow_soft_placement: true device_count { key: 'GPU' value: 1 } "
        "gpu_options { allow_growth: true visible_device_list: '0' }"
    )
    flags = [f"--tensorflow_session_config_file={config}", "--per_process_gpu_memory_fraction=0.5"]
    with serve(*flags) as server:
        assert_serves(server)
        assert "no effect" not in server.log()


@pytest.mark.skipif(driver_is_there(), reason="needs a machine without an NVIDIA driver")
@pytest.mark.parametrize(
    "version, reason",
    [
        ("12020", "the NVIDIA driver is too old: it is for CUDA 12.2, and this program for CUDA 13."),
        ("13010", "the NVIDIA driver finds no GPU"),
    ],
)
def test_with_a_driver_of_no_use_it_says_why_and_serves_on_the_cpu(
    version, reason, tmp_path, monkeypatch
):
    source = pathlib.Path(__file__).with_name("stand_in_driver.c")
    library = tmp_path / "libcuda.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    folders = [str(tmp_path), os.environ.get("LD_LIBRARY_PATH", "")]
    monkeypatch.setenv("LD_LIBRARY_PATH", ":".join(filter(None, folders)))
    monkeypatch.setenv("DRIVER_VERSION", version)
    with serve() as server:
        assert_serves(server)
        assert f"no GPU is used: {reason}" in server.log()
    assert server.exit_code == 0


@pytest.mark.skipif(not driver_is_there(), reason="needs an NVIDIA GPU")
def test_with_a_gpu_it_says_which_one_and_serves():
    with serve() as server:
        assert_serves(server)
        assert "compute capability" in server.log()


@pytest.mark.skipif(driver_is_there(), reason="needs a machine without an NVIDIA driver")
def test_inspect_says_what_has_no_kernel_on_gpus():
    """Whether there is a GPU or not: the model is looked at where it will not run."""
    half_plus_two = DATA / "tfserving" / "half_plus_two" / "00000123"
    done = subprocess.run(
        [BINARY, "inspect", half_plus_two], capture_output=True, text=True, check=True
    )
    assert "on the CPU beside a GPU, for want of a kernel there:" in done.stdout
    assert "ParseExampleV2 x 1" in done.stdout
    assert "Mul x" not in done.stdout


@pytest.mark.skipif(driver_is_there(), reason="needs a machine without an NVIDIA driver")
def test_bench_says_that_it_needs_a_gpu():
    bench = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "gpu" / "bench"
    done = subprocess.run([bench], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "bench: needs an NVIDIA GPU: there is no NVIDIA driver" in done.stderr
