"""Samples of requests in files: what they hold, that they warm versions up, and a disk that is full."""

import json
import resource
import shutil

import tensorflow as tf
from google.protobuf import text_format
from tensorflow_serving.apis import inference_pb2, model_management_pb2, prediction_log_pb2

from clients.client import SECONDS, Client, array, classify_request, refused, regress_request
from clients.conftest import HALF_PLUS_TWO
from clients.fault_steps import publish, wait_for_state, wait_until
from clients.server import Server
from clients.test_starts import wait_for_line

COUNT = ":tensorflow:serving:request_log_count"


class Logged:
    """A server of half_plus_two as model `m`, which logs its requests below a folder."""

    def __init__(self, folder, rate=1.0, flags=()):
        self.folder = folder
        self.base_path = folder / "model"
        shutil.copytree(HALF_PLUS_TWO, self.base_path)
        (folder / "models.config").write_text(self.config(rate))
        (folder / "monitoring.config").write_text("prometheus_config { enable: true }")
        self.server = Server(
            f"--model_config_file={folder / 'models.config'}",
            f"--monitoring_config_file={folder / 'monitoring.config'}",
            "--version_settle_seconds=0",
            *flags,
        )
        self.client = Client(self.server)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.channel.close()
        assert self.server.stop() == 0

    def config(self, rate):
        logging = "" if rate is None else f"""logging_config {{
            log_collector_config {{
              type: "tfrecord" filename_prefix: "{self.folder / 'logs' / 'm'}"
            }}
            sampling_config {{ sampling_rate: {rate} }}
          }}"""
        return f"""model_config_list {{ config {{
          name: "m" base_path: "{self.base_path}" model_platform: "tensorflow" {logging} }} }}"""

    def reload(self, rate):
        request = model_management_pb2.ReloadConfigRequest()
        text_format.Parse(self.config(rate), request.config)
        reply = self.client.models.HandleReloadConfigRequest(request, timeout=SECONDS)
        assert reply.status.error_code == 0, reply

    def counts(self):
        """{status code: records}"""
        page = self.server.http("GET", "/monitoring/prometheus/metrics")[2].decode()
        lines = [line for line in page.splitlines() if line.startswith(COUNT + "{")]
        return {line.split('"')[3]: int(line.split()[-1]) for line in lines}

    def await_count(self, code, number):
        wait_until(lambda: self.counts().get(code, 0) >= number, self.counts)

    def files(self):
        return sorted((self.folder / "logs").glob("m-*.tfrecord"))

    def records(self):
        """All records, as TensorFlow reads them."""
        dataset = tf.data.TFRecordDataset([str(path) for path in self.files()])
        return [
            prediction_log_pb2.PredictionLog.FromString(record)
            for record in dataset.as_numpy_iterator()
        ]


def multi_inference_request(value):
    """Both ways to ask the model of one example."""
    classify = classify_request("m", [{"x": value}], signature="classify_x_to_y")
    request = inference_pb2.MultiInferenceRequest(input=classify.input)
    for method, signature in (("classify", "classify_x_to_y"), ("regress", "regress_x_to_y")):
        task = request.tasks.add(method_name=f"tensorflow/serving/{method}")
        task.model_spec.name = "m"
        task.model_spec.signature_name = signature
    return request


def test_requests_of_all_protocols_are_kept_and_warm_the_next_version_up(tmp_path):
    with Logged(tmp_path) as logged:
        client, server = logged.client, logged.server
        assert client.half_plus_two([1.0, 2.0], label=None) == [2.5, 3.0]
        client.prediction.Classify(
            classify_request("m", [{"x": 3.0}], signature="classify_x_to_y"), timeout=SECONDS
        )
        client.prediction.Regress(
            regress_request("m", [{"x": 4.0}], signature="regress_x_to_y"), timeout=SECONDS
        )
        client.prediction.MultiInference(multi_inference_request(5.0), timeout=SECONDS)
        rest = (
            ("/v1/models/m:predict", {"instances": [6.0]}),
            (
                "/v1/models/m:classify",
                {"signature_name": "classify_x_to_y", "examples": [{"x": 7.0}]},
            ),
            ("/v1/models/m:regress", {"signature_name": "regress_x_to_y", "examples": [{"x": 8.0}]}),
            (
                "/v2/models/m/infer",
                {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [9.0]}]},
            ),
        )
        for path, body in rest:
            status, _, answer = server.http("POST", path, json.dumps(body).encode())
            assert status == 200, answer
        # Requests that fail, and those that ask for no inference, are not kept.
        assert server.http("POST", "/v1/models/m:predict", b'{"instances": ["no"]}')[0] == 400
        assert server.http("GET", "/v1/models/m")[0] == 200
        logged.await_count("OK", 8)
        assert logged.counts() == {"OK": 8}

        records = logged.records()
        kinds = [record.WhichOneof("log_type") for record in records]
        predict, classify, regress = "predict_log", "classify_log", "regress_log"
        assert kinds == [
            predict, classify, regress, "multi_inference_log", predict, classify, regress, predict
        ]  # fmt: skip
        first = records[0]
        assert first.log_metadata.model_spec.version.value == 123
        assert first.log_metadata.sampling_config.sampling_rate == 1
        assert tf.make_ndarray(first.predict_log.request.inputs["x"]).tolist() == [1, 2]
        assert tf.make_ndarray(first.predict_log.response.outputs["y"]).tolist() == [2.5, 3]
        assert first.predict_log.response.model_spec.version.value == 123
        assert records[6].regress_log.response.result.regressions[0].value == 6
        assert array(records[7].predict_log.request.inputs["x"]).tolist() == [9]

        # The file replays as it is.
        version = tmp_path / "124"
        shutil.copytree(HALF_PLUS_TWO / "00000123", version)
        extra = version / "assets.extra"
        extra.mkdir(exist_ok=True)
        shutil.copy(logged.files()[0], extra / "tf_serving_warmup_requests")
        publish(version, logged.base_path / "124")
        wait_for_state(client, "m", 124, "AVAILABLE")
        wait_for_line(server, "/124 with 8 records in")
        assert len(logged.records()) == 8, "warm-up is no request"


def test_a_reload_turns_the_log_on_and_off(tmp_path):
    with Logged(tmp_path, rate=None) as logged:
        logged.client.half_plus_two([1.0])
        logged.reload(1)
        logged.client.half_plus_two([2.0])
        logged.reload(None)
        logged.client.half_plus_two([3.0])
        logged.reload(0)
        logged.client.half_plus_two([4.0])
        values = [array(r.predict_log.request.inputs["x"]).tolist() for r in logged.records()]
        assert values == [[2.0]], "a log that ends is written before the reload is answered"


YAML = """
monitoring: {{prometheus_config: {{enable: true}}}}
version_settle_seconds: 0
rollout_state_file: {folder}/state
models:
  - name: m
    base_path: {folder}/model
    rollout: {{steps: [{{share_percent: 0.000001, duration_seconds: 1000}}], mirror_percent: 100}}
    logging_config:
      log_collector_config: {{type: tfrecord, filename_prefix: {folder}/logs/m}}
      sampling_config: {{sampling_rate: 1}}
"""


def test_what_a_rollout_mirrors_is_not_kept_twice(tmp_path):
    shutil.copytree(HALF_PLUS_TWO, tmp_path / "model")
    config = tmp_path / "tessera.yaml"
    config.write_text(YAML.format(folder=tmp_path))
    with Server(f"--config={config}") as server, Client(server) as client:
        publish(HALF_PLUS_TWO / "00000123", tmp_path / "model" / "124")
        wait_for_state(client, "m", 124, "AVAILABLE")
        num_asked = 0

        def one_was_mirrored():
            nonlocal num_asked
            assert client.half_plus_two([float(num_asked)]) == [num_asked / 2 + 2]
            num_asked += 1
            page = server.http("GET", "/monitoring/prometheus/metrics")[2].decode()
            return 'outcome="compared"' in page

        wait_until(one_was_mirrored, "no request is mirrored")
    (file,) = (tmp_path / "logs").iterdir()
    assert len(list(tf.data.TFRecordDataset([str(file)]))) == num_asked


def test_files_rotate_and_the_oldest_go(tmp_path):
    flags = ("--request_log_file_size=1KiB", "--request_log_max_files=3")
    with Logged(tmp_path, flags=flags) as logged:
        for number in range(20):
            logged.client.half_plus_two([float(number)] * 20)
            logged.await_count("OK", number + 1)
        files = logged.files()
        assert len(files) == 3
        assert all(path.stat().st_size <= 1024 for path in files)
        values = [array(r.predict_log.request.inputs["x"])[0] for r in logged.records()]
        assert len(values) > 3 and values == list(range(20))[-len(values) :]


def test_a_full_disk_costs_records_and_nothing_else(tmp_path):
    with Logged(tmp_path) as logged:
        logged.client.half_plus_two([1.0])
        logged.await_count("OK", 1)
        # No file may grow beyond this; the server's own log stays below it.
        pid, full = logged.server.process.pid, 200_000
        _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (full, most))
        values = [1.0] * 10_000  # 40,000 bytes, and as many in the answer
        for number in range(6):
            assert logged.client.half_plus_two(values) == [2.5] * 10_000
            wait_until(lambda: sum(logged.counts().values()) == number + 2, logged.counts)
        assert logged.counts() == {"OK": 3, "UNAVAILABLE": 4}
        assert logged.server.log(1000).count("File too large") == 1
        wait_for_line(logged.server, "the request log of model 'm': cannot write to")

        resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))
        assert logged.client.half_plus_two(values) == [2.5] * 10_000
        logged.await_count("OK", 4)
        wait_for_line(logged.server, "is written again; 4 records were lost")
        assert len(logged.records()) == 4, "no half of a record is left"


def test_a_configuration_that_cannot_be_logged_is_refused(tmp_path):
    with Logged(tmp_path) as logged:
        request = model_management_pb2.ReloadConfigRequest()
        text_format.Parse(logged.config(1.5), request.config)
        with refused("INVALID_ARGUMENT", "sampling_rate is 1.5; it must be from 0 to 1"):
            logged.client.models.HandleReloadConfigRequest(request, timeout=SECONDS)
        logged.client.half_plus_two([1.0])
        logged.await_count("OK", 1)
