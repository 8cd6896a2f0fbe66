"""KServe's protocol, version 2, by Triton's clients and KServe's own, which live in environments of
their own, and what no recorded case says."""

import contextlib
import gzip
import json
import pathlib
import shutil
import ssl
import struct
import subprocess

import pytest

from clients.authority import Authority
from clients.server import DATA, REPOSITORY, Model, Server

MODELS = DATA / "kserve_v2" / "models"
INFER = "/v2/models/half_plus_two/infer"
CONTROL = "/v2/repository/models/half_plus_two/"
BODY = b'{"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [2]}]}'


def served_models():
    return [Model(path.name, path) for path in sorted(MODELS.iterdir())]


@pytest.fixture(scope="module", name="server")
def _server():
    with Server("--enable_model_control", models=served_models()) as server:
        yield server


def python_of(environment):
    """The interpreter of an environment, which is made if it is not there."""
    run = subprocess.run(
        [REPOSITORY / "scripts" / "python_env", environment],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return run.stdout.strip()


FORMS = ["grpc", "http", "grpc_asyncio", "http_asyncio"]


SDK_PROTOCOLS = ["grpc", "v2", "v1"]


def ask_by(environment, program, server, form, *security):
    """Runs triton_calls.py or sdk_calls.py with what it takes of a certificate and a token."""
    port = server.grpc_port if "grpc" in form else server.rest_port
    program = pathlib.Path(__file__).with_name(program)
    run = subprocess.run(
        [python_of(environment), program, form, f"localhost:{port}", *security],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr + server.log()


@pytest.mark.parametrize("form", FORMS)
def test_tritonclient(server, form):
    ask_by("kserve", "triton_calls.py", server, form)


@pytest.mark.parametrize("protocol", SDK_PROTOCOLS)
def test_client_of_kserve(server, protocol):
    ask_by("kserve_sdk", "sdk_calls.py", server, protocol)


@pytest.fixture(scope="module", name="secured")
def _secured(tmp_path_factory):
    """A server with TLS and tokens, and what its clients need."""
    folder = tmp_path_factory.mktemp("secured")
    authority = Authority(folder, "authority")
    key, certificate = authority.sign_files("server")
    (folder / "tokens").write_text("secret\n", encoding="utf-8")
    flags = [
        f"--ssl_certificate_file={certificate}",
        f"--ssl_key_file={key}",
        "--rest_api_ssl",
        f"--token_file={folder / 'tokens'}",
        "--enable_model_control",
    ]
    tls = ssl.create_default_context(cafile=authority.ca_file)
    with Server(*flags, models=served_models(), tls=tls) as server:
        yield server, (authority.ca_file, "secret")


@pytest.mark.parametrize("form", FORMS)
def test_tritonclient_with_tls_and_a_token(secured, form):
    server, security = secured
    ask_by("kserve", "triton_calls.py", server, form, *security)


@pytest.mark.parametrize("protocol", SDK_PROTOCOLS)
def test_client_of_kserve_with_tls_and_a_token(secured, protocol):
    server, security = secured
    ask_by("kserve_sdk", "sdk_calls.py", server, protocol, *security)


def test_models_are_controlled_only_where_that_is_allowed():
    with Server(models=[Model("half_plus_two", MODELS / "half_plus_two")]) as server:
        for action in ("load", "unload"):
            path = f"/v2/repository/models/half_plus_two/{action}"
            status, _, body = server.http("POST", path)
            assert status == 503
            assert "--enable_model_control" in json.loads(body)["error"]
        assert "request failed: rest load of model 'half_plus_two': " in server.log()
        assert server.http("POST", INFER, BODY)[0] == 200


@contextlib.contextmanager
def unloaded_model(folder):
    """A server whose only model, a copy in `folder`, was unloaded."""
    shutil.copytree(MODELS / "half_plus_two", folder)
    flags = ("--enable_model_control", "--version_settle_seconds=0")
    with Server(*flags, models=[Model("half_plus_two", folder)]) as server:
        assert server.http("POST", CONTROL + "unload")[0] == 200
        yield server


def test_a_load_that_fails_is_an_error_and_can_be_mended(tmp_path):
    with unloaded_model(tmp_path / "m") as server:
        assert server.http("GET", "/v2/health/ready")[0] == 400
        graph = tmp_path / "m" / "1" / "saved_model.pb"
        good = graph.read_bytes()
        graph.write_bytes(b"no model")
        status, _, body = server.http("POST", CONTROL + "load")
        assert status == 400, body
        assert "half_plus_two" in json.loads(body)["error"]
        status, _, body = server.http("POST", "/v2/models/half_plus_two/versions/1/infer", BODY)
        assert status == 503, body
        (tmp_path / "good").write_bytes(good)
        (tmp_path / "good").rename(graph)
        assert server.http("POST", CONTROL + "load")[0] == 200
        assert server.http("POST", INFER, BODY)[0] == 200


def test_a_load_without_a_version_ends_and_holds_up_nothing(tmp_path):
    with unloaded_model(tmp_path / "m") as server:
        version = tmp_path / "m" / "1"
        version.rename(tmp_path / "1")
        for action, status in (("load", 400), ("unload", 200), ("load", 400)):
            answered, _, body = server.http("POST", CONTROL + action)
            assert answered == status, body
        assert "no version to load" in json.loads(body)["error"]
        (tmp_path / "1").rename(version)
        assert server.http("POST", CONTROL + "load")[0] == 200
        assert server.http("POST", INFER, BODY)[0] == 200


def test_pages_of_other_origins_may_ask():
    models = [Model("half_plus_two", MODELS / "half_plus_two")]
    with Server("--rest_api_enable_cors_support", models=models) as server:
        origin = {"Origin": "https://example.com"}
        for method, path, body in (
            ("OPTIONS", INFER, None),
            ("POST", INFER, BODY),
            ("GET", "/v2/models/absent", None),
        ):
            _, headers, _ = server.http(method, path, body, headers=origin)
            assert headers["Access-Control-Allow-Origin"] == "*"
            allowed = headers["Access-Control-Allow-Headers"]
            assert allowed == "Content-Type, Inference-Header-Content-Length"
        assert server.http("OPTIONS", INFER, headers=origin)[0] == 200


def test_a_raw_body_is_the_only_input(server):
    headers = {"Inference-Header-Content-Length": "0"}
    status, headers, answer = server.http("POST", INFER, struct.pack("<2f", 2, 4), headers)
    assert status == 200, answer
    length = int(headers["Inference-Header-Content-Length"])
    assert json.loads(answer[:length])["outputs"][0]["shape"] == [2]
    assert struct.unpack("<2f", answer[length:]) == (3, 4)


@pytest.mark.parametrize(
    "data, shape, datatype",
    [
        ([1e39], [1], "FP32"),  # no float, and not infinity either
        ([[1, 2]], [1, 1 << 40], "FP32"),  # no memory is taken for what is not there
        ([[[1]]], [1], "FP32"),
        ([True], [1], "FP32"),
        (5, [1], "FP32"),
    ],
)
def test_elements_that_do_not_fit_are_refused(server, data, shape, datatype):
    tensor = {"name": "x", "shape": shape, "datatype": datatype, "data": data}
    status, _, body = server.http("POST", INFER, json.dumps({"inputs": [tensor]}))
    assert status == 400
    assert "'x'" in json.loads(body)["error"]


def test_strings_that_are_no_text_have_no_form_in_json(server):
    tensor = {"name": "x", "shape": [1, 1], "datatype": "BYTES"}
    header = json.dumps({"inputs": [tensor | {"parameters": {"binary_data_size": 5}}]}).encode()
    status, _, body = server.http(
        "POST",
        "/v2/models/identity_bytes/infer",
        header + b"\x01\0\0\0\xff",
        {"Inference-Header-Content-Length": str(len(header))},
    )
    assert status == 400
    assert "binary" in json.loads(body)["error"]


@pytest.mark.parametrize(
    "parameters, status",
    [
        ({"priority": 3, "timeout": 1000, "sequence_id": "a", "sequence_start": True}, 200),
        ({"priority": "high"}, 400),
        ({"timeout": -1}, 400),
        ({"sequence_start": 1}, 400),
        ({"triton_enable_empty_final_response": True}, 400),
        ({"own": {"nested": 1}}, 400),
    ],
)
def test_parameters_of_a_request(server, parameters, status):
    body = json.loads(BODY) | {"parameters": parameters}
    assert server.http("POST", INFER, json.dumps(body))[0] == status


def test_shared_memory_is_refused_and_not_passed_over(server):
    region = {"shared_memory_region": "r", "shared_memory_byte_size": 4}
    tensor = {"name": "x", "shape": [1], "datatype": "FP32"}
    wanted = {"name": "y", "parameters": region}
    for body in (
        {"inputs": [tensor | {"parameters": region}]},
        {"inputs": [tensor | {"data": [2]}], "outputs": [wanted]},
    ):
        status, _, answer = server.http("POST", INFER, json.dumps(body))
        assert status == 400
        assert "no shared memory" in json.loads(answer)["error"]
    status, _, answer = server.http("GET", "/v2/systemsharedmemory/status")
    assert status == 404 and json.loads(answer)["error"]


def test_a_body_that_is_too_large_when_inflated_is_refused(server):
    body = gzip.compress(b" " * (101 << 20), 1)
    status, _, answer = server.http("POST", INFER, body, {"Content-Encoding": "gzip"})
    assert status == 400  # not 429, after which clients would send it again
    assert "more than 104857600 bytes when inflated" in json.loads(answer)["error"]


def test_settings_are_shown_and_stay(server):
    for path in ("/v2/logging", "/v2/trace/setting"):
        status, _, body = server.http("GET", path)
        assert status == 200
        settings = json.loads(body)
        status, _, body = server.http("POST", path, json.dumps(settings))
        assert (status, json.loads(body)) == (200, settings)
    status, _, _ = server.http("POST", "/v2/logging", '{"log_verbose_level": 2}')
    assert status == 501


def test_inferences_are_in_the_statistics_of_their_version(server):
    def count():
        _, _, body = server.http("GET", "/v2/models/identity_int64/stats")
        (model,) = json.loads(body)["model_stats"]
        return model["inference_count"], model["inference_stats"]["fail"]["count"]

    before = count()
    tensor = {"name": "x", "shape": [1, 1], "datatype": "INT64", "data": [1]}
    for datatype in ("INT64", "INT32"):
        body = json.dumps({"inputs": [tensor | {"datatype": datatype}]})
        server.http("POST", "/v2/models/identity_int64/infer", body)
    assert count() == (before[0] + 1, before[1])  # what was refused failed nowhere
