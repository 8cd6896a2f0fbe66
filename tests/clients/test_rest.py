"""The REST API, as curl sends it."""

import dataclasses
import gzip
import json
import subprocess
import zlib

import pytest

from clients.conftest import DIGITS, HALF_PLUS_TWO
from clients.server import Model, Server

AVAILABLE = {"state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
GOOD = '{"instances": [1.0, 2.0]}'


@dataclasses.dataclass
class Reply:
    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


def curl(server, path, *options, data=None):
    """One curl run; `data` goes through its standard input, so that it may be of any size."""
    if data is not None:
        options += ("--data-binary", "@-")
        data = data.encode() if isinstance(data, str) else data
    run = subprocess.run(
        [
            "curl",
            "-sS",
            "--max-time",
            "120",
            "-i",
            *options,
            f"http://127.0.0.1:{server.rest_port}{path}",
        ],
        input=data,
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr.decode()
    head, _, body = run.stdout.partition(b"\r\n\r\n")
    while head.split(b" ", 2)[1] == b"100":  # what came before is `100 Continue`
        head, _, body = body.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
    return Reply(int(lines[0].split(" ")[1]), {k.lower(): v for k, v in headers.items()}, body)


def assert_refused(reply, status):
    assert reply.status == status, reply.body
    assert reply.headers["content-type"] == "application/json"
    assert list(reply.json) == ["error"] and reply.json["error"]


@pytest.mark.parametrize("target", ["m", "m/versions/123", "m/labels/stable", "%6D"])
def test_predict_by_every_form_of_path(serving, target):
    reply = curl(serving, f"/v1/models/{target}:predict", data=GOOD)
    assert (reply.status, reply.json) == (200, {"predictions": [2.5, 3.0]})
    assert reply.headers["content-type"] == "application/json"
    assert int(reply.headers["content-length"]) == len(reply.body)


@pytest.mark.parametrize("target", ["m", "m/versions/123", "m/labels/stable"])
def test_classify_and_regress_by_every_form_of_path(serving, target):
    body = {"signature_name": "classify_x_to_y", "examples": [{"x": 20.0}]}
    reply = curl(serving, f"/v1/models/{target}:classify", data=json.dumps(body))
    assert (reply.status, reply.json) == (200, {"results": [[["", 12.0]]]})
    body["signature_name"] = "regress_x_to_y"
    reply = curl(serving, f"/v1/models/{target}:regress", data=json.dumps(body))
    assert (reply.status, reply.json) == (200, {"results": [12.0]})


@pytest.mark.parametrize(
    "target, versions",
    [
        ("m", ["123"]),
        ("m/versions/123", ["123"]),
        ("digits", ["2", "1"]),
        ("digits/versions/1", ["1"]),
    ],
)
def test_status_by_every_form_of_path(serving, target, versions):
    reply = curl(serving, f"/v1/models/{target}")
    assert reply.status == 200
    assert reply.json == {
        "model_version_status": [{"version": version, **AVAILABLE} for version in versions]
    }


@pytest.mark.parametrize(
    "target, version", [("digits", "2"), ("digits/versions/1", "1"), ("digits/labels/stable", "1")]
)
def test_metadata_by_every_form_of_path(serving, target, version):
    reply = curl(serving, f"/v1/models/{target}/metadata")
    assert reply.status == 200
    assert reply.json["model_spec"] == {"name": "digits", "signature_name": "", "version": version}
    signature = reply.json["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert set(signature["outputs"]) == {"label", "probabilities"}
    assert [dim["size"] for dim in signature["inputs"]["image"]["tensor_shape"]["dim"]] == [
        "-1",
        "8",
        "8",
        "1",
    ]


def test_recorded_samples_are_read_right(serving):
    text = (DIGITS / "samples.json").read_text(encoding="utf-8")
    reply = curl(serving, "/v1/models/digits:predict", data=text)
    assert [row["label"] for row in reply.json["predictions"]] == json.loads(text)["labels"]


def test_rows_and_columns(serving):
    assert curl(serving, "/v1/models/m:predict", data='{"inputs": [[1], [2]]}').json == {
        "outputs": [[2.5], [3.0]]
    }
    assert curl(serving, "/v1/models/m:predict", data='{"inputs": {"x": 2}}').json == {
        "outputs": 3.0
    }
    assert curl(
        serving, "/v1/models/m:predict", data='{"instances": [{"x": 2}, {"x": 4}]}'
    ).json == {"predictions": [3.0, 4.0]}


def test_gzip_and_chunks(serving):
    packed = gzip.compress(GOOD.encode())
    gzip_header = ("-H", "Content-Encoding: gzip")
    chunked_header = ("-H", "Transfer-Encoding: chunked")
    for options, data in [
        (gzip_header, packed),
        (chunked_header, GOOD),
        (gzip_header + chunked_header, packed),
    ]:
        reply = curl(serving, "/v1/models/m:predict", *options, data=data)
        assert (reply.status, reply.json) == (200, {"predictions": [2.5, 3.0]}), options


@pytest.mark.parametrize(
    "data, reason",
    [
        (b"no gzip", "no gzip data"),
        (gzip.compress(GOOD.encode())[:-12], "ends early"),
        (gzip.compress(b" " * (101 << 20), 1), "more than 104857600 bytes when inflated"),
    ],
    ids=["garbage", "truncated", "beyond_100_MiB"],
)
def test_bad_gzip(serving, data, reason):
    reply = curl(serving, "/v1/models/m:predict", "-H", "Content-Encoding: gzip", data=data)
    assert_refused(reply, 400)
    assert reason in reply.json["error"]


def test_other_compression_is_refused_by_name(serving):
    reply = curl(
        serving,
        "/v1/models/m:predict",
        "-H",
        "Content-Encoding: deflate",
        data=zlib.compress(GOOD.encode()),
    )
    assert_refused(reply, 415)
    assert "'deflate'" in reply.json["error"] and "gzip" in reply.json["error"]
    # A name that means no compression is passed over, as TensorFlow Serving does.
    assert curl(
        serving, "/v1/models/m:predict", "-H", "Content-Encoding: utf-8", data=GOOD
    ).json == {"predictions": [2.5, 3.0]}


def test_list_of_models(serving):
    reply = curl(serving, "/models")
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    models = {model["name"]: model["model_version_status"] for model in reply.json["models"]}
    assert models["m"] == [{"version": "123", **AVAILABLE}]
    assert [version["version"] for version in models["digits"]] == ["2", "1"]
    assert curl(serving, "/models", "-X", "DELETE").status == 405


@pytest.mark.parametrize("size", [70_000, 900_000])
def test_too_long_header(serving, size, tmp_path):
    (tmp_path / "headers").write_text("A: " + "x" * size, encoding="ascii")
    assert curl(serving, "/v1/models/m", "-H", f"@{tmp_path}/headers").status == 431


def test_old_http_and_connections_that_stay(serving):
    assert curl(serving, "/v1/models/m:predict", "--http1.0", data=GOOD).status == 200
    run = subprocess.run(
        ["curl", "-sSv", "-d", GOOD]
        + [f"http://127.0.0.1:{serving.rest_port}/v1/models/m:predict"] * 3,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.count("predictions") == 3
    assert "Re-using existing connection" in run.stderr


def test_large_body(serving):
    values = [float(i % 1000) for i in range(1_000_000)]
    reply = curl(serving, "/v1/models/m:predict", data=json.dumps({"instances": values}))
    assert reply.status == 200
    assert reply.json["predictions"] == [value / 2 + 2 for value in values]


@pytest.mark.parametrize(
    "status, method, path, data",
    [
        (404, "POST", "/v1/models/nope:predict", GOOD),
        (404, "POST", "/v1/models/m/versions/9:predict", GOOD),
        (400, "POST", "/v1/models/m/versions/99999999999999999999:predict", GOOD),
        (400, "POST", "/v1/models/m/labels/nope:predict", GOOD),
        (400, "POST", "/v1/models/m:predict?a=b", GOOD),
        (400, "POST", "/v1/models/m:PREDICT", GOOD),
        (400, "POST", "/v1/models/m:dance", GOOD),
        (400, "POST", "/v1/models/m", GOOD),
        (400, "GET", "/v1/models/m:predict", None),
        (400, "PUT", "/v1/models/m:predict", GOOD),
        (400, "DELETE", "/v1/models/m:predict", None),
        (400, "PATCH", "/v1/models/m:predict", GOOD),
        (400, "GET", "/v1/models", None),
        (404, "GET", "/v1/models/nope", None),
        (404, "GET", "/v1/models/m/versions/9", None),
        (404, "GET", "/v1/models/nope/metadata", None),
        (400, "GET", "/v1/models/m/labels/nope/metadata", None),
        (400, "GET", "/v1/whatever", None),
    ],
)
def test_refused_paths(serving, status, method, path, data):
    assert_refused(curl(serving, path, "-X", method, data=data), status)


def test_what_lies_outside_the_api(serving):
    assert curl(serving, "/index.html").status == 404
    assert curl(serving, "/" + "a" * 100_000).status in (400, 404, 414, 431)


def test_head_has_no_body(serving):
    reply = curl(serving, "/v1/models/m", "--head")
    assert (reply.status, reply.body) == (400, b"")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "zz",
        "[]",
        "{}",
        "null",
        "1",
        '"text"',
        "{",
        '{"instances": [1.0]',
        '{"instances": [1.0,]}',
        '{"instances": [01]}',
        '{"instances": [1e400]}',
        '{"instances": "x"}',
        '{"instances": []}',
        '{"instances": [null]}',
        '{"instances": ["a"]}',
        '{"instances": [true]}',
        '{"instances": [{}]}',
        '{"instances": [{"w": 1}]}',
        '{"instances": [{"x": 1, "w": 1}]}',
        '{"instances": [{"x": 1}, 2]}',
        '{"instances": [[1, 2], [3]]}',
        '{"instances": [[1], 2]}',
        '{"instances": [[[1]], [2]]}',
        '{"inputs": {"w": 1}}',
        '{"inputs": [[1, 2], [3]]}',
        '{"inputs": [1], "instances": [1]}',
        '{"signature_name": 1, "instances": [1]}',
        '{"signature_name": "nope", "instances": [1]}',
        '{"signature_name": "classify_x_to_y", "instances": [1]}',
        '{"signature_name": "classify_x_to_y", "instances": [{"b64": "###"}]}',
        b"\xff\xfe\x00",
        b'{"instances": [\x00]}',
    ],
)
def test_refused_predict_bodies(serving, body):
    assert_refused(curl(serving, "/v1/models/m:predict", data=body), 400)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{}",
        '{"examples": []}',
        '{"examples": {}}',
        '{"examples": [1]}',
        '{"examples": [{}]}',
        '{"examples": [{"x": 1}]}',
        '{"examples": [{"x": "1"}]}',
        '{"examples": [{"x": [1.0, "a"]}]}',
        '{"examples": [{"x": null}]}',
        '{"examples": [{"x": [[1.0]]}]}',
        '{"context": 1, "examples": [{"x": 1.0}]}',
    ],
)
def test_refused_example_bodies(serving, body):
    if body.startswith('{"'):
        body = '{"signature_name": "regress_x_to_y", ' + body[1:]
    assert_refused(curl(serving, "/v1/models/m:regress", data=body), 400)


@pytest.mark.parametrize("opening, closing", [("[", "]"), ('{"x":', "}")])
@pytest.mark.parametrize("key", ["instances", "inputs", "signature_name"])
def test_half_a_million_levels(serving, key, opening, closing):
    deep = opening * 500_000 + "1" + closing * 500_000
    assert_refused(curl(serving, "/v1/models/m:predict", data=f'{{"{key}": {deep}}}'), 400)
    assert_refused(
        curl(serving, "/v1/models/m:predict", data=f'{{"{key}": {opening * 500_000}'), 400
    )
    # A key that is not looked at may hold anything.
    reply = curl(serving, "/v1/models/m:predict", data=f'{{"other": {deep}, "instances": [2]}}')
    assert (reply.status, reply.json) == (200, {"predictions": [3.0]})


def test_numbers_that_are_not_finite(serving):
    reply = curl(
        serving, "/v1/models/m:predict", data='{"instances": [NaN, Infinity, -Infinity, 1e300]}'
    )
    assert reply.body == b'{\n    "predictions": [NaN, Infinity, -Infinity, Infinity\n    ]\n}'


def test_options_with_and_without_origin(serving):
    reply = curl(
        serving, "/v1/models/m:predict", "-X", "OPTIONS", "-H", "Origin: http://example.com"
    )
    assert (reply.status, reply.body) == (200, b"")
    assert curl(serving, "/v1/models/m:predict", "-X", "OPTIONS").status == 400


def test_cors_headers_by_flag(serving):
    assert "access-control-allow-origin" not in curl(serving, "/v1/models/m").headers
    with Server("--rest_api_enable_cors_support", models=[Model("m", HALF_PLUS_TWO)]) as server:
        for reply in (
            curl(server, "/v1/models/m"),
            curl(server, "/v1/models/nope"),
            curl(server, "/v1/models/m:predict", data=GOOD),
        ):
            assert reply.headers["access-control-allow-origin"] == "*"
            assert reply.headers["access-control-allow-methods"] == "POST, GET"
            assert reply.headers["access-control-allow-headers"] == "Content-Type"
