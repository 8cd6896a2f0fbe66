"""A line of JSON for each request, whoever asks, and the file that logrotate renames."""

import json
import signal

import pytest
from tensorflow_serving.apis import get_model_status_pb2

from clients.client import SECONDS, Client, refused
from clients.conftest import HALF_PLUS_TWO
from clients.fault_steps import wait_until
from clients.server import Model, Server, StartError

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


def of_request(log, **expected):
    """The one line with these members."""
    found = []

    def has_line():
        text = log.read_text()
        every = [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
        found[:] = [line for line in every if line.items() >= expected.items()]
        return found

    wait_until(has_line, lambda: log.read_text())
    assert len(found) == 1, found
    return found[0]


def test_each_request_has_a_line(tmp_path):
    path = tmp_path / "access.log"
    with Server(
        f"--access_log={path}", models=[Model("m", HALF_PLUS_TWO)]
    ) as server, Client(server) as client:
        client.half_plus_two([1.0])
        line = of_request(path, method="Predict")
        assert line.keys() == {
            "time", "protocol", "method", "model", "version", "status", "duration_us",
            "bytes_in", "bytes_out", "peer",
        }  # fmt: skip
        assert (line["protocol"], line["model"], line["version"]) == ("grpc", "m", 123)
        assert line["status"] == "OK"
        assert line["duration_us"] > 0 and line["bytes_in"] > 10 and line["bytes_out"] > 10
        assert line["peer"].startswith("127.0.0.1:")

        request = get_model_status_pb2.GetModelStatusRequest()
        request.model_spec.name = 'no\n"model"'
        with refused("NOT_FOUND"):
            client.models.GetModelStatus(
                request, timeout=SECONDS, metadata=[("traceparent", TRACEPARENT)]
            )
        line = of_request(path, method="GetModelStatus")
        assert (line["status"], line["model"]) == ("NOT_FOUND", 'no\n"model"')
        assert (line["trace_id"], line["bytes_out"]) == (TRACE, 0)

        body = b'{"instances": [4.0]}'
        answer = server.http(
            "POST", "/v1/models/m:predict", body, {"traceparent": TRACEPARENT}
        )
        line = of_request(path, method="POST")
        assert (line["protocol"], line["path"]) == ("http", "/v1/models/m:predict")
        assert (line["model"], line["version"], line["status"]) == ("m", 123, "200")
        assert (line["bytes_in"], line["bytes_out"]) == (len(body), len(answer[2]))
        assert line["trace_id"] == TRACE
        assert line["peer"].startswith("127.0.0.1:")

        server.http("GET", "/nowhere?a=b", headers={"traceparent": "00-00-00-00"})
        line = of_request(path, path="/nowhere?a=b")
        assert line["status"] == "404" and "trace_id" not in line
        assert "model" not in line and "version" not in line


def test_calls_of_kserve_name_their_model(tmp_path):
    path = tmp_path / "access.log"
    flags = (f"--access_log={path}", "--enable_model_control")
    with Server(*flags, models=[Model("m", HALF_PLUS_TWO)]) as server, Client(server) as client:
        for method in ("ModelReady", "ModelMetadata", "ModelConfig", "ModelStatistics"):
            call = client.channel.unary_unary(f"/inference.GRPCInferenceService/{method}")
            call(b"\x0a\x01m", timeout=SECONDS)  # field 1, the name
            assert of_request(path, method=method)["model"] == "m"
        for method, target, body in (
            ("GET", "/v2/models/m", None),
            ("GET", "/v2/models/m/stats", None),
            ("DELETE", "/v2/models/m/infer", None),
            ("POST", "/v2/repository/models/m/load", ""),
        ):
            server.http(method, target, body)
            assert of_request(path, path=target)["model"] == "m"
        server.http("GET", "/v2")
        assert "model" not in of_request(path, path="/v2")


def test_what_is_refused_by_its_head_has_a_line(tmp_path):
    path, tokens = tmp_path / "access.log", tmp_path / "tokens"
    tokens.write_text("secret\n")
    config = tmp_path / "tessera.yaml"
    config.write_text(
        f"models: [{{name: m, base_path: {HALF_PLUS_TWO}, limits: {{max_request_bytes: 10}}}}]"
    )
    with Server(
        f"--access_log={path}", f"--token_file={tokens}", f"--config={config}"
    ) as server:
        server.http("GET", "/v1/models/m", headers={"traceparent": TRACEPARENT})
        line = of_request(path, path="/v1/models/m")
        assert (line["status"], line["trace_id"]) == ("401", TRACE)
        assert line["peer"].startswith("127.0.0.1:") and line["bytes_in"] == 0

        token = {"Authorization": "Bearer secret"}
        server.http("POST", "/v1/models/m:predict", b'{"instances": [4.0]}', token)
        line = of_request(path, path="/v1/models/m:predict")
        assert (line["status"], line["model"]) == ("413", "m")

        chunks = iter([b'{"instances":', b" [4.0]}"])
        server.http("POST", "/v2/models/m/infer", chunks, token)
        line = of_request(path, path="/v2/models/m/infer")
        assert (line["status"], line["model"]) == ("413", "m")


def test_sighup_opens_the_file_again(tmp_path):
    path = tmp_path / "access.log"
    with Server(
        f"--access_log={path}", models=[Model("m", HALF_PLUS_TWO)]
    ) as server, Client(server) as client:
        client.half_plus_two([1.0])
        of_request(path, method="Predict")
        path.rename(tmp_path / "access.log.1")
        server.process.send_signal(signal.SIGHUP)

        def has_new_file():
            client.half_plus_two([2.0])
            return path.exists()

        wait_until(has_new_file, "the file is not made again")
    assert '"Predict"' in path.read_text()
    assert '"Predict"' in (tmp_path / "access.log.1").read_text()


def test_a_full_disk_is_told_once_and_the_server_goes_on():
    with Server(
        "--access_log=/dev/full", models=[Model("m", HALF_PLUS_TWO)]
    ) as server, Client(server) as client:
        for number in range(3):
            assert client.half_plus_two([float(number)]) == [number / 2 + 2]
        told = "the access log: cannot write to '/dev/full': No space left on device"
        wait_until(lambda: told in server.log(1000), server.log)
    assert server.log(1000).count(told) == 1


def test_standard_output_can_be_the_log():
    with Server("--access_log=-", models=[Model("m", HALF_PLUS_TWO)]) as server:
        server.http("GET", "/livez")
        wait_until(lambda: '"path":"/livez","status":"200"' in server.log(1000), server.log)


def test_a_file_that_cannot_be_opened_ends_the_start():
    with pytest.raises(StartError, match="access_log: cannot open '/none/access.log': No such file"):
        Server("--access_log=/none/access.log", models=[Model("m", HALF_PLUS_TWO)])
