"""nvcc compiles what primitives share between devices, and a GPU computes with it what the host does.

No GPU is needed for the first, and no nvcc either where there is none: what cannot be tested is
skipped.
"""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EIGEN = pathlib.Path("/usr/include/eigen3")
ABSEIL = pathlib.Path("/usr/include/absl")
NO_GPU = 77

NVCC_FLAGS = [
    "-std=c++20", "-O1", "--extended-lambda",
    # A functor that calls what runs on the host alone is compiled, with a warning, into a trap.
    "-Werror", "all-warnings",
    # Functors of all numbers ask unsigned ones for their sign.
    "-diag-suppress", "186",
    # Eigen is wanted for the types that store elements, and warns if it is compiled for a GPU.
    "-DEIGEN_NO_CUDA",
    f"-I{ROOT}", "-isystem", str(EIGEN),
]


PROGRAMS = ["elementwise_loops", "reductions_and_random"]


@pytest.fixture(scope="module", params=PROGRAMS)
def program(request, tmp_path_factory):
    if shutil.which("nvcc") is None:
        pytest.skip("needs nvcc")
    if not EIGEN.is_dir() or not ABSEIL.is_dir():
        pytest.skip("needs the headers of Eigen and Abseil")
    binary = tmp_path_factory.mktemp("gpu") / request.param
    source = ROOT / "tests/gpu" / f"{request.param}.cu"
    compiled = subprocess.run(["nvcc", *NVCC_FLAGS, source, "-o", binary],
                              capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stdout[-4000:] + compiled.stderr[-4000:]
    return binary


def test_nvcc_compiles_it_without_a_warning(program):
    assert program.exists()


def test_a_gpu_computes_what_the_host_does(program):
    result = subprocess.run([program], capture_output=True, text=True, check=False)
    if result.returncode == NO_GPU:
        pytest.skip("needs an NVIDIA GPU")
    assert result.returncode == 0, result.stdout
