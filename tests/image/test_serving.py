"""What people do with tensorflow/serving's image, done with ours: in a chroot and in a container.

Both run as a user without capabilities on a read-only file system without a shell.
"""

import json
import shutil

import numpy as np
import pytest

from clients.client import array, predict_request
from clients.conftest import DIGITS, HALF_PLUS_TWO
from clients.custom_op import build_library, save_zero_out_model
from clients.fault_steps import ask_sum, publish, wait_for_state
from clients.made_models import save_sum_model
from clients.server import Model, StartError, config_text
from image.places import ENTRYPOINT, Run

MODEL_SERVER = "/usr/bin/tensorflow_model_server"


def assert_halves(server, model):
    """Asks half_plus_two under a name over both protocols."""
    response = server.client.predict(predict_request(model, {"x": np.array([2.0], np.float32)}))
    assert array(response.outputs["y"]).tolist() == [3.0]
    status, _, body = server.http("POST", f"/v1/models/{model}:predict", b'{"instances": [4.0]}')
    assert (status, json.loads(body)) == (200, {"predictions": [4.0]})


def assert_stops(server):
    """SIGTERM ends the program with exit code 0."""
    assert server.stop() == 0, server.log()


def test_a_bind_mount_and_a_model_name(start):
    server = start(mounts={"/models/half": HALF_PLUS_TWO}, environment={"MODEL_NAME": "half"})
    assert_halves(server, "half")
    assert_stops(server)


def test_the_model_is_called_model_where_nothing_is_said(start):
    assert_halves(start(mounts={"/models/model": HALF_PLUS_TWO}), "model")


def test_a_base_path_of_ones_own(start):
    server = start(
        mounts={"/srv/half": HALF_PLUS_TWO},
        environment={"MODEL_NAME": "half", "MODEL_BASE_PATH": "/srv"},
    )
    assert_halves(server, "half")


def test_arguments_go_over_the_environment(start):
    server = start(
        "--model_name=other",
        "--enable_grpc_healthcheck_service",
        mounts={"/models/half": HALF_PLUS_TWO},
        environment={"MODEL_NAME": "half"},
    )
    assert_halves(server, "other")


def test_a_model_config_file(start, tmp_path):
    for name, folder in {"half": HALF_PLUS_TWO, "digits": DIGITS}.items():
        shutil.copytree(folder, tmp_path / name)
    models = [Model("half", "/models/half"), Model("digits", "/models/digits", [1, 2])]
    (tmp_path / "models.config").write_text(config_text(models), encoding="utf-8")
    tmp_path.chmod(0o755)
    server = start("--model_config_file=/models/models.config", mounts={"/models": tmp_path})
    assert_halves(server, "half")
    assert set(server.client.version_states("digits")) == {1, 2}


def test_a_yaml_file_goes_over_the_environment(start, tmp_path):
    (tmp_path / "tessera.yaml").write_text(
        "models: [{name: half, base_path: /models/half}]\n"
        "monitoring: {prometheus_config: {enable: true}}\n",
        encoding="utf-8",
    )
    tmp_path.chmod(0o755)
    server = start(
        "--config=/etc/tessera/tessera.yaml",
        mounts={"/etc/tessera": tmp_path, "/models/half": HALF_PLUS_TWO},
        environment={"MODEL_NAME": "unheard"},
    )
    assert_halves(server, "half")
    status, _, page = server.http("GET", "/monitoring/prometheus/metrics")
    assert status == 200 and b"request_count" in page


@pytest.mark.parametrize("program", ["tensorflow_model_server", MODEL_SERVER])
def test_the_model_server_as_entry_point(start, program):
    server = start(
        "--model_name=half",
        "--model_base_path=/models/half",
        entrypoint=program,
        mounts={"/models/half": HALF_PLUS_TWO},
    )
    assert_halves(server, "half")


def test_the_model_server_as_first_argument(place):
    """As the entry script does, the word is told to be unknown, and the flags count."""
    code, out = place.output(Run(("tensorflow_model_server", "--version")))
    assert code == 0 and "TensorFlow ModelServer: " in out
    code, out = place.output(Run(("tensorflow_model_server", "--rest_api_port=x")))
    assert code == 255 and "Couldn't interpret value x for flag rest_api_port." in out


def test_help_shows_the_ports_and_the_model_of_the_image(place):
    code, out = place.output(Run(("--help",)))
    assert code == 255
    assert f"usage: {ENTRYPOINT.rsplit('/', maxsplit=1)[-1]}\n" in out
    for flag in ("port=8500", "rest_api_port=8501", 'model_name="model"'):
        assert f"--{flag}" in out
    assert '--model_base_path="/models/model"' in out


def test_other_commands(place):
    run = Run(
        ("inspect", "/models/half/00000123"),
        entrypoint="tessera",
        mounts={"/models/half": HALF_PLUS_TWO},
    )
    code, out = place.output(run)
    assert code == 0 and "serving_default" in out


def test_the_health_check(place, start):
    """What HEALTHCHECK runs, at the port of the test."""
    server = start(mounts={"/models/model": HALF_PLUS_TWO})
    run = Run(("health", f"--rest_api_port={server.rest_port}"), entrypoint="tessera")
    code, out = place.output(run)
    assert code == 0, out
    server.stop()
    code, out = place.output(run)
    assert code == 1, out


def test_a_user_that_the_image_does_not_know(start):
    assert_halves(start(user=12345, mounts={"/models/model": HALF_PLUS_TWO}), "model")


def test_a_new_version_in_the_mounted_folder(start, half_plus_two_copy):
    half_plus_two_copy.parent.chmod(0o755)
    server = start(mounts={"/models/model": half_plus_two_copy})
    publish(half_plus_two_copy / "00000123", half_plus_two_copy / "124")
    wait_for_state(server.client, "model", 124, "AVAILABLE")
    assert_halves(server, "model")


def test_weights_of_another_user_are_read_and_stay(start, tmp_path):
    """No lease is granted on them: a map would change with the file."""
    floats = 1 << 16
    folder = tmp_path / "sum"
    save_sum_model(folder / "1", 1, floats)
    folder.chmod(0o755)
    server = start("--model_name=sum", mounts={"/models/model": folder})
    assert ask_sum(server.client, 3) == 3 * floats
    weights = folder / "1" / "variables" / "variables.data-00000-of-00001"
    with open(weights, "r+b") as file:
        file.write(bytes(weights.stat().st_size))
    assert ask_sum(server.client, 3) == 3 * floats


def test_a_file_that_the_user_must_not_read_is_named(start, half_plus_two_copy):
    """A model that does not load at the start ends the server."""
    (half_plus_two_copy / "00000123" / "saved_model.pb").chmod(0o600)
    with pytest.raises(StartError, match="/models/model/00000123/saved_model.pb.*Permission denied"):
        start(mounts={"/models/model": half_plus_two_copy})


def test_a_custom_op(start, tmp_path):
    library = build_library(tmp_path)
    folder = tmp_path / "zero"
    folder.mkdir()
    save_zero_out_model(folder)
    tmp_path.chmod(0o755)
    server = start(
        f"--op_library=/ops/{library.name}", mounts={"/models/model": folder, "/ops": tmp_path}
    )
    request = predict_request("model", {"x": np.array([5, 6], np.float32)})
    assert array(server.client.predict(request).outputs["y"]).tolist() == [5, 0]
