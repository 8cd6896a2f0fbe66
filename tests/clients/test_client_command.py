"""`tessera client` against a real server, by both protocols."""

import contextlib
import json
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np
import pytest

from clients.picture import png
from clients.server import Model, Server, binary, free_port
from clients.test_command_line import VERSION, done, tessera


@pytest.fixture(name="at", params=["grpc", "rest"])
def _at(request, serving):
    """The flags that lead to the server of all tests."""
    if request.param == "grpc":
        return [f"--server={serving.grpc_address}"]
    return ["--rest", f"--server=127.0.0.1:{serving.rest_port}"]


def test_predicts_from_json(at):
    assert done("client", "predict", "m", *at, "--input", "x=[1, 2, 5]") == (
        "y: float[3] [2.5 3 4.5]\n"
    )
    out = done("client", "predict", "m", *at, "--input=x=[[1], [NaN]]", "--json")
    assert '"outputs"' in out and "NaN" in out


def test_predicts_from_numpy_for_a_label_and_one_output(at, samples, tmp_path):
    images, _ = samples
    np.save(tmp_path / "images.npy", np.array(images, np.float32))
    flags = ["--input", f"image=@{tmp_path}/images.npy", "--output", "label", "--json"]
    answers = [
        json.loads(done("client", "predict", "digits", *at, "--label", label, *flags))["outputs"]
        for label in ("stable", "canary")
    ]
    local = json.loads(done("run", VERSION.parents[2] / "digits" / "2", *flags[:2], "--json"))
    assert answers[1] == local["outputs"]["label"]
    assert len(answers[0]) == len(images)


def test_predicts_from_a_picture_as_from_its_pixels(at, samples, tmp_path):
    images, _ = samples
    pixels = np.rint(np.array(images[0]).reshape(8, 8) * 255 / np.max(images[0])).astype(int)
    (tmp_path / "digit.png").write_bytes(png(pixels.tolist()))
    exact = json.dumps((pixels[None, :, :, None] / 255).tolist())
    by_values, by_picture = (
        json.loads(done("client", "predict", "digits", *at, "--json", "--input", f"image={value}"))
        for value in (exact, f"@{tmp_path}/digit.png")
    )
    assert by_picture["outputs"]["label"] == by_values["outputs"]["label"]
    np.testing.assert_allclose(
        by_picture["outputs"]["probabilities"], by_values["outputs"]["probabilities"], atol=1e-6
    )


def test_status_and_metadata(at):
    assert done("client", "status", "digits", *at) == (
        "version 1: AVAILABLE\nversion 2: AVAILABLE\n"
    )
    assert json.loads(done("client", "status", "m", *at, "--json")) == {"123": "AVAILABLE"}
    text = done("client", "metadata", "digits", *at)
    assert text.startswith("version 2\n  signature serving_default (tensorflow/serving/predict)\n")
    assert "    input   image  float [?,8,8,1]\n" in text
    described = json.loads(done("client", "metadata", "m", *at, "--version=123", "--json"))
    assert described["version"] == 123
    assert described["signatures"]["serving_default"]["inputs"]["x"]["dtype"] == "float"


@pytest.mark.parametrize(
    "arguments, status, words",
    [
        (["predict", "nope", "--input=x=1"], "NOT_FOUND", ["has no model 'nope'"]),
        (["status", "nope"], "NOT_FOUND", ["has no model 'nope'"]),
        (["predict", "m", "--version=7", "--input=x=1"], "NOT_FOUND", ["123 AVAILABLE"]),
        (["predict", "m", "--signature=s", "--input=x=1"], "NOT_FOUND", ["'s'", "serving_default"]),
        (["predict", "m"], "INVALID_ARGUMENT", ["input 'x' (float <unknown>) is not given"]),
        (["predict", "m", "--input=z=1"], "INVALID_ARGUMENT", ["no input 'z'", "it takes: x"]),
        (["predict", "m", '--input=x="a"'], "INVALID_ARGUMENT", ["input 'x'", "float"]),
        (["predict", "m", "--input=x=1", "--output=q"], "INVALID_ARGUMENT", ["'q'", "y"]),
        (["predict", "digits", "--input=image=[[1]]"], "INVALID_ARGUMENT", ["image", "[?,8,8,1]"]),
        (["predict", "m", "--input=x=@/no/file.npy"], "NOT_FOUND", ["/no/file.npy"]),
        (["predict", "a b/c?d%", "--input=x=1"], "NOT_FOUND", ["has no model 'a b/c?d%'"]),
    ],
)
def test_tells_what_is_wrong(at, arguments, status, words):
    code, out, err = tessera("client", *arguments, *at)
    assert (code, out) == (1, "")
    assert err.startswith(f"tessera client: {status}: ")
    for word in words:
        assert word in err


def test_arrays_of_another_type_are_refused(at, tmp_path):
    np.save(tmp_path / "x.npy", np.array([1.0, 2.0]))
    code, out, err = tessera("client", "predict", "m", *at, f"--input=x=@{tmp_path}/x.npy")
    assert (code, out) == (1, "")
    assert "input 'x'" in err and "double" in err and "float" in err and "astype" in err


@pytest.mark.parametrize("protocol", ["grpc", "rest"])
def test_follows_a_hot_swap_and_the_end_of_the_server(half_plus_two_copy, protocol):
    """The lines after the time of day, in the order in which they come."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Server(models=[Model("m", half_plus_two_copy)]))
        flags = {
            "grpc": [f"--server={server.grpc_address}"],
            "rest": ["--rest", f"--server=127.0.0.1:{server.rest_port}"],
        }[protocol]
        follower = stack.enter_context(
            subprocess.Popen(
                [str(binary()), "client", "status", "m", "--follow", *flags],
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        stack.callback(follower.kill)
        lines = (line.split(" ", 1)[1].rstrip() for line in follower.stdout)

        assert next(lines) == "version 123: AVAILABLE"
        shutil.copytree(half_plus_two_copy / "00000123", half_plus_two_copy / "124.tmp")
        (half_plus_two_copy / "124.tmp").rename(half_plus_two_copy / "124")
        seen = set()
        while not {"version 124: AVAILABLE", "version 123: END"} <= seen:
            seen.add(next(lines))
        server.stop()
        assert next(line for line in lines if "version" not in line).startswith("UNAVAILABLE: ")
        assert follower.poll() is None


def test_asks_over_a_unix_socket(half_plus_two_copy):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # a socket's path must be short
        path = f"{folder}/s.1/s"
        pathlib.Path(path).parent.mkdir()
        with Server(f"--grpc_socket_path={path}", models=[Model("m", half_plus_two_copy)]):
            flags = ["m", f"--server=unix:{path}"]
            assert done("client", "predict", *flags, "--input=x=[1]") == "y: float[1] [2.5]\n"
            assert done("client", "status", *flags) == "version 123: AVAILABLE\n"
            load = ["--model=m", flags[1], "--input=x=[1]", "--seconds=0.2", "--warmup=0", "--json"]
            assert json.loads(done("bench", *load))["requests_per_second"] > 0


@pytest.mark.parametrize("protocol", [[], ["--rest"]])
def test_a_server_that_is_not_there_is_said(protocol):
    code, _, err = tessera("client", "status", "m", f"--server=127.0.0.1:{free_port()}", *protocol)
    assert code == 1
    assert "UNAVAILABLE: no answer from 127.0.0.1:" in err and "tessera serve" in err


@pytest.mark.parametrize(
    "flags, word",
    [
        (["--server=localhost"], "is not HOST:PORT"),
        (["--rest", "--server=unix:/s"], "REST has no Unix sockets"),
        (["--version=1", "--label=a"], "exclude each other"),
        (["--version=new"], "is no number"),
        (["--timeout=0"], "more than 0 seconds"),
        (["--header=a"], "is not NAME:VALUE"),
        (["--header=a:b\r\nc: d"], "no header may have"),
    ],
)
def test_wrong_flags_are_named(flags, word):
    code, out, err = tessera("client", "status", "m", *flags)
    assert (code, out) == (2, "")
    assert word in err


def test_pictures_that_fit_nothing_are_refused(tmp_path):
    (tmp_path / "digit.png").write_bytes(png([[0, 255], [255, 0]]))
    (tmp_path / "cut.png").write_bytes(png([[0, 255], [255, 0]])[:40])
    digits = VERSION.parents[2] / "digits" / "2"
    for flags, word in [
        ([f"--input=image=@{tmp_path}/digit.png", "--image_size=9x9"], "not that of the input"),
        ([f"--input=image=@{tmp_path}/digit.png", "--image_size=big"], "HEIGHTxWIDTH"),
        ([f"--input=image=@{tmp_path}/digit.png", "--image_range=1"], "BLACK,WHITE"),
        ([f"--input=image=@{tmp_path}/cut.png"], "input 'image'"),
    ]:
        code, _, err = tessera("run", digits, *flags)
        assert code == 1 and word in err, err
