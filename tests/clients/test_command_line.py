"""Help, `tessera inspect` and `tessera run`, and custom ops in each command, as one types them."""

import base64
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.example import example_pb2
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

from clients.client import Client, array, fill_example, predict_request
from clients.conftest import DIGITS, HALF_PLUS_TWO
from clients.custom_op import build_library, save_zero_out_model
from clients.server import DATA, Model, Server, StartError, binary

VERSION = HALF_PLUS_TWO / "00000123"
MODELS = DATA / "models"


def tessera(*arguments):
    """One run of the binary: (exit code, standard output, standard error)."""
    run = subprocess.run(
        [str(binary()), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return run.returncode, run.stdout, run.stderr


def done(*arguments):
    """The standard output of a run that must succeed and say nothing on standard error."""
    code, out, err = tessera(*arguments)
    assert (code, err) == (0, "")
    return out


@pytest.mark.parametrize("command", [[], ["serve"], ["run"]], ids=lambda c: "".join(c) or "all")
def test_help_goes_to_standard_output(command):
    assert done(*command, "--help").startswith("usage: tessera")
    assert done("help", *command) == done(*command, "--help") == done(*command, "-h")


@pytest.mark.parametrize("command", [["help"], ["--version"], ["inspect", "--json", VERSION]], ids=str)
def test_a_full_disk_is_no_success(command):
    with open("/dev/full", "w", encoding="utf-8") as full:
        run = subprocess.run([str(binary()), *map(str, command)], stdout=full, text=True,
                             stderr=subprocess.PIPE, timeout=120, check=False)
    assert run.returncode == 1
    assert "cannot write the standard output" in run.stderr


def with_closed(descriptors, *arguments):
    """The command of a run without these descriptors, such as ">&- 2>&-"."""
    return ["sh", "-c", f'exec "$@" {descriptors}', "sh", str(binary()), *map(str, arguments)]


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_files_do_not_get_what_is_printed_to_closed_descriptors(closed, tmp_path):
    log = tmp_path / "access.log"
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # a socket's path must be short
        ready = pathlib.Path(folder) / "s"
        serve = ["serve", "--port=0", f"--grpc_socket_path={ready}", f"--access_log={log}",
                 f"--model_base_path={HALF_PLUS_TWO}"]
        with subprocess.Popen(with_closed(closed, *serve)) as server:
            while not ready.exists():
                assert server.poll() is None
                time.sleep(0.01)
            server.terminate()
            assert server.wait(timeout=120) == 0
    assert log.read_bytes() == b""


@pytest.mark.parametrize("closed", [">&-", "<&- >&-"])
def test_a_closed_standard_output_is_no_success(closed):
    run = subprocess.run(with_closed(closed, "--version"), stderr=subprocess.PIPE, text=True,
                         timeout=120, check=False)
    assert run.returncode == 1
    assert "cannot write the standard output: Bad file descriptor" in run.stderr


@pytest.mark.parametrize("arguments", [
    ["client", "predict", "m", "--server=localhost:74036", "--input=x=[1]"],
    ["client", "predict", "m", "--rest", "--server=localhost:74036", "--input=x=[1]"],
    ["rollout", "status", "--admin=[::1]:74036"],
    ["health", "--address=localhost:0"],
    ["profile", "localhost:99999999999"],
], ids=lambda arguments: arguments[0])
def test_numbers_that_are_no_ports_reach_no_other_server(arguments):
    code, _, err = tessera(*arguments)
    assert code == 2 and "is no port" in err


def test_help_knows_every_command():
    commands = re.findall("^  ([a-z]+)  ", done("help"), re.MULTILINE)
    assert commands[:3] == ["serve", "inspect", "run"]
    for command in commands:
        assert done("help", command).startswith(f"usage: tessera {command}")


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], ["usage: tessera COMMAND"]),
        (["dance"], ["unknown command 'dance'", "usage: tessera COMMAND"]),
        (["inspct"], ["unknown command 'inspct'; did you mean 'inspect'?"]),
        (["help", "dance"], ["unknown command 'dance'"]),
        (["inspect"], ["PATH is missing", "usage: tessera inspect"]),
        (["inspect", "a", "b"], ["unknown argument 'b'", "usage: tessera inspect"]),
        (["inspect", "a", "--opps"], ["unknown flag '--opps'; did you mean '--ops'?"]),
        (["run"], ["DIR is missing", "usage: tessera run"]),
        (["run", "a", "b"], ["unknown argument 'b'"]),
        (["run", "a", "--input"], ["--input lacks its value"]),
        (["run", VERSION, "--input", "x"], ["input 'x' is not NAME=VALUE"]),
        (["run", VERSION, "--input", "x=1", "--input=x=2"], ["input 'x' is given twice"]),
        (["run", VERSION, "--numerics=wild"], ["wild"]),
    ],
)
def test_wrong_arguments_are_named(arguments, words):
    code, out, err = tessera(*arguments)
    assert (code, out) == (2, "")
    for word in words:
        assert word in err


def test_inspect_shows_signatures_ops_and_variables():
    lines = done("inspect", VERSION).splitlines()
    assert lines[0] == f"SavedModel {VERSION}"
    assert "    signature serving_default (tensorflow/serving/predict)" in lines
    assert "      input  x  float <unknown>  x:0" in lines
    assert "    every op has a kernel" in lines
    assert "    loads" in lines
    assert "  3 variables, 12 bytes" in lines
    assert not any("ops by count" in line for line in lines)


def test_inspect_counts_ops_when_asked():
    out = done("inspect", "--ops", MODELS / "keras_multi_io" / "1")
    assert "    ops by count:\n" in out
    assert "  3  MatMul  (float; by primitives)\n" in out


def test_inspect_times_kernels():
    """The shares of the kernels that warm-up runs, without what only the first run does."""
    digits = DIGITS / "1"
    measured = json.loads(done("inspect", "--ops", "--json", digits))["measured"]
    assert measured["runs"] > 1
    (multiply,) = [kernel for kernel in measured["kernels"] if kernel["op"] == "Mul"]
    assert (multiply["device"], multiply["dtype"], multiply["nodes"]) == ("CPU:0", "float", 1)
    assert sum(kernel["share"] for kernel in measured["kernels"]) == pytest.approx(1)


@pytest.mark.parametrize("name", sorted(path.name for path in MODELS.iterdir()))
def test_inspect_finds_every_recorded_model_complete(name):
    for version in sorted(MODELS.glob(f"{name}/[0-9]*")):
        out = done("inspect", version)
        assert "    signature " in out
        assert "every op has a kernel" in out
        assert "\n    loads\n" in out


def test_inspect_says_what_a_load_says(tmp_path):
    """A model whose signature is fine by its ops, but whose variables are gone."""
    shutil.copytree(VERSION, tmp_path / "1", copy_function=shutil.copyfile)
    next((tmp_path / "1" / "variables").glob("*.data-*")).unlink()
    code, out, err = tessera("inspect", tmp_path / "1")
    assert "    every op has a kernel\n" in out
    (inspected,) = re.findall("    does not load: (.*)\n", out)
    assert (code, err) == (1, f"tessera inspect: {inspected}\n")
    code, _, err = tessera("run", tmp_path / "1", "--input=x=1")
    assert (code, err) == (1, f"tessera run: {inspected}\n")
    with pytest.raises(StartError) as failure:
        Server(models=[Model("m", tmp_path)])
    assert inspected in str(failure.value)


def test_inspect_makes_the_recorded_requests_of_warm_up_as_a_server_does(tmp_path):
    """A model that loads, but whose own record of requests names a signature that it lacks."""
    shutil.copytree(VERSION, tmp_path / "1", copy_function=shutil.copyfile)
    log = prediction_log_pb2.PredictionLog()
    log.predict_log.request.CopyFrom(
        predict_request("m", {"x": np.float32([1])}, signature="absent")
    )
    (tmp_path / "1" / "assets.extra").mkdir()
    with tf.io.TFRecordWriter(
        str(tmp_path / "1" / "assets.extra" / "tf_serving_warmup_requests")
    ) as file:
        file.write(log.SerializeToString())
    code, out, err = tessera("inspect", tmp_path / "1")
    (inspected,) = re.findall("    does not load: (.*)\n", out)
    assert "absent" in inspected
    assert (code, err) == (1, f"tessera inspect: {inspected}\n")
    with pytest.raises(StartError) as failure:
        Server(models=[Model("m", tmp_path)])
    assert inspected in str(failure.value)


def test_inspect_of_a_part_names_the_whole():
    code, _, err = tessera("inspect", VERSION / "saved_model.pb")
    assert code == 1
    assert f"is a part of a SavedModel: name its folder, {VERSION}" in err


def test_inspect_tells_programs_what_it_tells_people():
    found = json.loads(done("inspect", "--json", VERSION))
    assert (found["kind"], found["usable"]) == ("saved_model", True)
    (meta_graph,) = found["meta_graphs"]
    assert meta_graph["load"]["error_code"] == "OK"
    signature = meta_graph["signatures"]["serving_default"]
    assert signature["inputs"] == {
        "x": {"dtype": "float", "shape": None, "tensor": "x:0", "has_default": False}
    }
    assert (meta_graph["nodes"], len(meta_graph["ops"])) == (57, 19)
    assert found["checkpoint"]["bytes"] == 12
    assert sorted(found["checkpoint"]["variables"]) == ["a", "b", "c"]


def test_inspect_json_names_what_is_missing(zero_out_model):
    code, out, err = tessera("inspect", "--json", zero_out_model / "1")
    found = json.loads(out)
    assert (code, found["usable"]) == (1, False)
    assert found["problem"] in err
    assert found["meta_graphs"][0]["ops"]["ZeroOut"]["without_kernel"] == ["zero_out"]


def test_inspect_counts_what_can_run():
    """Keras leaves traces of every layer in a model, which no signature calls."""
    found = json.loads(done("inspect", "--json", MODELS / "tf_keras2_mnist_cnn" / "1"))
    assert found["meta_graphs"][0]["functions"] == 4
    assert "_CHECKPOINTABLE_OBJECT_GRAPH" not in found["checkpoint"]["variables"]


def test_inspect_shows_assets():
    out = done("inspect", MODELS / "tf1_half_plus_two_assets" / "1")
    assert "    asset foo.txt  fed to " in out


@pytest.mark.parametrize(
    "path", ["variables", "variables/variables", "variables/variables.index"]
)
def test_inspect_reads_checkpoints(path):
    out = done("inspect", VERSION / path)
    assert out == (
        f"checkpoint {VERSION}/variables/variables\n  3 variables, 12 bytes\n"
        "    a  float []  4 bytes\n    b  float []  4 bytes\n    c  float []  4 bytes\n"
    )


def test_inspect_reads_graphs_in_both_forms(tmp_path):
    saved_model = saved_model_pb2.SavedModel.FromString((VERSION / "saved_model.pb").read_bytes())
    graph = saved_model.meta_graphs[0].graph_def
    (tmp_path / "graph.pb").write_bytes(graph.SerializeToString())
    (tmp_path / "graph.pbtxt").write_text(text_format.MessageToString(graph), encoding="utf-8")
    for name in ("graph.pb", "graph.pbtxt"):
        out = done("inspect", tmp_path / name)
        assert "placeholder tf_example  string" in out
        assert "57 nodes; 19 ops" in out


def spoiled_graph(tmp_path):
    path = tmp_path / "graph.pb"
    path.write_bytes(b"\xff" * 100)
    return path, "DATA_LOSS", [str(path), "is not a GraphDef"]


def spoiled_text(tmp_path):
    path = tmp_path / "graph.pbtxt"
    path.write_text('node {\n  name: "a"\n  ope: "b" }')
    return path, "DATA_LOSS", [str(path), "line 3", '"ope"']


def deep_text(tmp_path):
    path = tmp_path / "graph.pbtxt"
    levels = 300_000
    path.write_text(
        'node { attr { key: "a" value '
        + '{ func { attr { key: "a" value ' * levels
        + "{}"
        + " } } }" * levels
        + " } }"
    )
    return path, "DATA_LOSS", [str(path), "too deep"]


def folder_of_versions(_):
    return HALF_PLUS_TWO, "NOT_FOUND", [str(HALF_PLUS_TWO), "00000123"]


def nothing_there(tmp_path):
    return tmp_path / "absent", "NOT_FOUND", ["absent"]


def empty_folder(tmp_path):
    return tmp_path, "NOT_FOUND", [str(tmp_path), "saved_model.pb"]


def spoiled_index(tmp_path):
    shutil.copytree(VERSION / "variables", tmp_path / "variables")
    index = tmp_path / "variables" / "variables.index"
    index.write_bytes(index.read_bytes()[:-1])
    return tmp_path / "variables", "DATA_LOSS", [str(index)]


@pytest.mark.parametrize(
    "make",
    [
        spoiled_graph,
        spoiled_text,
        deep_text,
        spoiled_index,
        folder_of_versions,
        nothing_there,
        empty_folder,
    ],
)
def test_inspect_tells_what_is_wrong(make, tmp_path):
    path, status, words = make(tmp_path)
    code, out, err = tessera("inspect", path)
    assert (code, out) == (1, "")
    assert err.startswith(f"tessera inspect: {status}: ")
    assert err.count("\n") == 1, err
    for word in words:
        assert word in err


def test_run_prints_tensors_or_json():
    assert done("run", VERSION, "--input", "x=[1, 2, 5]") == "y: float[3] [2.5 3 4.5]\n"
    assert done("run", VERSION, "--input=x=[[1], [2]]") == "y: float[2,1] [[2.5] [3]]\n"
    assert json.loads(done("run", VERSION, "--input=x=5", "--json")) == {"outputs": 4.5}
    assert done("run", VERSION, "--input=x=NaN") == "y: float[] nan\n"
    assert done("run", "--input", "x=1", "--json", VERSION) == '{\n    "outputs": 2.5\n}\n'
    assert done("run", VERSION, "--signature=regress_x2_to_y3", "--input=inputs=2").startswith(
        "outputs: float[] "
    )


def test_run_prints_the_outputs_that_are_named(tmp_path):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def call(x):
        rows = tf.RaggedTensor.from_row_lengths(x, [1, 1])
        return {"a": x + 1, "b": x + 2, "rows": rows}

    module = tf.Module()
    module.call = call
    tf.saved_model.save(module, str(tmp_path), signatures=call)
    arguments = ["run", tmp_path, "--input", "x=[1, 2]"]
    assert done(*arguments, "--output=b") == "b: float[2] [3 4]\n"
    assert done(*arguments, "--output=b", "--output=a").splitlines() == [
        "b: float[2] [3 4]", "a: float[2] [2 3]"]
    code, _, err = tessera(*arguments)
    assert code == 1 and "'rows'" in err and "made of several tensors" in err
    assert re.search(r"output rows +<unknown>  composite", done("inspect", tmp_path))


def test_run_takes_strings_and_bytes():
    example = example_pb2.Example()
    fill_example(example, {"x": 2.0})
    packed = base64.b64encode(example.SerializeToString()).decode()
    out = done("run", VERSION, "--signature=regress_x_to_y", f'--input=inputs=[{{"b64": "{packed}"}}]')
    assert out == "outputs: float[1,1] [[3]]\n"
    code, _, err = tessera("run", VERSION, "--signature=regress_x_to_y", '--input=inputs=["text"]')
    assert code == 1 and "no serialized Example" in err


def recorded_case(model, index):
    """A recorded request, and the response that TensorFlow gave."""
    folder = MODELS / model / "golden"
    return (
        predict_pb2.PredictRequest.FromString(
            (folder / f"case_{index}.request.pb").read_bytes()
        ),
        predict_pb2.PredictResponse.FromString(
            (folder / f"case_{index}.response.pb").read_bytes()
        ),
    )


@pytest.mark.parametrize("model", ["digits_cnn", "resnet50_narrow", "bert_tiny"])
def test_run_computes_what_a_server_computes(model, tmp_path):
    """To the last bit, which a session that does not freeze variables misses for these models."""
    request, _ = recorded_case(model, 0)
    values = {name: array(proto) for name, proto in request.inputs.items()}
    for name, value in values.items():
        np.save(tmp_path / f"{name}.npy", value)
    inputs = [f"--input={name}=@{tmp_path}/{name}.npy" for name in values]
    signature = request.model_spec.signature_name or "serving_default"
    run = done("run", MODELS / model / "1", f"--signature={signature}", "--json", *inputs)
    body = {
        "signature_name": signature,
        "inputs": {name: value.tolist() for name, value in values.items()},
    }
    with Server(models=[Model(model, MODELS / model, versions=[1])]) as server:
        status, _, answer = server.http("POST", f"/v1/models/{model}:predict", json.dumps(body))
    assert status == 200
    assert json.loads(run) == json.loads(answer)


@pytest.mark.parametrize("form", ["text", "json", "npy"])
@pytest.mark.parametrize("model", ["digits_cnn", "keras_multi_io"])
def test_run_answers_recorded_requests(model, form, tmp_path):
    request, response = recorded_case(model, 0)
    inputs = []
    for name, proto in request.inputs.items():
        values = array(proto)
        text = json.dumps(values.tolist())
        if form == "npy":
            np.save(tmp_path / f"{name}.npy", values)
        elif form == "json":
            (tmp_path / f"{name}.json").write_text(text)
        inputs += ["--input", f"{name}=" + (text if form == "text" else f"@{tmp_path}/{name}.{form}")]
    signature = request.model_spec.signature_name or "serving_default"
    out = done("run", MODELS / model / "1", f"--signature={signature}", "--json", *inputs)
    outputs = json.loads(out)["outputs"]
    if len(response.outputs) == 1:
        outputs = {next(iter(response.outputs)): outputs}
    assert set(outputs) == set(response.outputs)
    for name, proto in response.outputs.items():
        np.testing.assert_allclose(outputs[name], array(proto), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "arguments, status, words",
    [
        ([], "INVALID_ARGUMENT", ["input 'x' (float <unknown>) is not given", "--input x=VALUE"]),
        (["--input=z=1"], "INVALID_ARGUMENT", ["no input 'z'", "it takes: x"]),
        (['--input=x="a"'], "INVALID_ARGUMENT", ["input 'x'", '"a"', "float"]),
        (["--input=x="], "INVALID_ARGUMENT", ["input 'x'", "no JSON value", "at byte 0"]),
        (["--input=x=[1, 2"], "INVALID_ARGUMENT", ["input 'x'", "no JSON value", "at byte 5"]),
        (["--input=x=1}} 2"], "INVALID_ARGUMENT", ["input 'x'", "no JSON value", "at byte 1"]),
        (['--input=x=1, "y": 2'], "INVALID_ARGUMENT", ["input 'x'", "no JSON value", "at byte 1"]),
        (["--input=x=[[1], [2, 3]]"], "INVALID_ARGUMENT", ["input 'x'", "size"]),
        (["--input=x=@absent.npy"], "NOT_FOUND", ["input 'x'", "absent.npy"]),
        (["--signature=s", "--input=x=1"], "NOT_FOUND", ["'s'", "serving_default"]),
        (["--tags=train", "--input=x=1"], "NOT_FOUND", ["{ train }", "{ serve }"]),
        (
            ["--signature=regress_x_to_y", "--input=inputs=[text]"],
            "INVALID_ARGUMENT",
            ["input 'inputs'", "a text stands in double quotes"],
        ),
        (["--op_library=absent.so", "--input=x=1"], "INVALID_ARGUMENT", ["absent.so"]),
    ],
)
def test_run_tells_what_is_wrong(arguments, status, words):
    code, out, err = tessera("run", VERSION, *arguments)
    assert (code, out) == (1, "")
    assert err.startswith(f"tessera run: {status}: ")
    for word in words:
        assert word in err


def test_run_names_the_versions_of_a_model():
    code, _, err = tessera("run", HALF_PLUS_TWO, "--input=x=1")
    assert code == 1 and "00000123" in err


def test_run_refuses_files_of_another_type(tmp_path):
    np.save(tmp_path / "x.npy", np.array([1.0, 2.0]))
    code, _, err = tessera("run", VERSION, f"--input=x=@{tmp_path}/x.npy")
    assert code == 1
    assert "input 'x'" in err and "double" in err and "float" in err and "astype" in err
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00")
    code, _, err = tessera("run", VERSION, f"--input=x=@{tmp_path}/x.npy")
    assert code == 1 and "INVALID_ARGUMENT: input 'x'" in err


@pytest.fixture(scope="module", name="op_library")
def _op_library(tmp_path_factory):
    return build_library(tmp_path_factory.mktemp("custom_op"))


@pytest.fixture(name="zero_out_model")
def _zero_out_model(tmp_path):
    save_zero_out_model(tmp_path)
    return tmp_path


def test_inspect_names_ops_that_a_library_must_bring(zero_out_model, op_library):
    code, out, _ = tessera("inspect", zero_out_model / "1")
    assert code == 1
    assert "1 op has no kernel (custom ops load with --op_library=FILE.so):" in out
    assert "      ZeroOut x 1: zero_out" in out
    assert "every op has a kernel" in done(
        "inspect", f"--op_library={op_library}", zero_out_model / "1"
    )


def test_run_with_a_custom_op(zero_out_model, op_library):
    code, _, err = tessera("run", zero_out_model / "1", "--input=x=[5, 6]")
    assert code == 1
    assert "1 op has no kernel: ZeroOut (node 'zero_out')" in err
    assert "--op_library=FILE.so" in err
    assert (
        done("run", zero_out_model / "1", f"--op_library={op_library}", "--input=x=[5, 6]")
        == "y: float[2] [5 0]\n"
    )


def test_serve_with_a_custom_op(zero_out_model, op_library):
    with Server(
        f"--op_library={op_library}", models=[Model("zero", zero_out_model)]
    ) as server, Client(server) as client:
        response = client.predict(predict_request("zero", {"x": np.array([5, 6], np.float32)}))
        assert array(response.outputs["y"]).tolist() == [5, 0]


def test_digits_are_read_from_the_command_line():
    samples = json.loads((DIGITS / "samples.json").read_text(encoding="utf-8"))
    images = json.dumps(samples["instances"])
    out = json.loads(done("run", DIGITS / "2", f"--input=image={images}", "--json"))
    assert out["outputs"]["label"] == samples["labels"]


def test_serve_reads_yaml(tmp_path):
    config = tmp_path / "tessera.yaml"
    config.write_text(f"models:\n  - {{name: m, base_path: {HALF_PLUS_TWO}}}\n", encoding="utf-8")
    with Server(f"--config={config}") as server, Client(server) as client:
        assert client.half_plus_two([2.0]) == [3.0]


def test_serve_names_the_line_of_an_unknown_key(tmp_path):
    config = tmp_path / "tessera.yaml"
    config.write_text("port: 1\nmodels:\n  - name: m\n    base_pth: /m\n", encoding="utf-8")
    code, _, err = tessera("serve", f"--config={config}")
    assert code == 255
    assert err == (
        f"{config}:4: unknown key 'base_pth' in models[0]; did you mean 'base_path'?\n"
    )


PLATFORM = """
platform_configs {{ key: "{name}" value {{ source_adapter_config {{
  [type.googleapis.com/tensorflow.serving.SavedModelBundleSourceAdapterConfig] {{
    legacy_config {{ {config} }}
  }}
}} }} }}
"""


def test_serve_takes_a_platform_configuration(tmp_path):
    config = tmp_path / "platform.config"
    config.write_text(PLATFORM.format(name="tensorflow", config='saved_model_tags: "serve"'))
    with Server(
        f"--platform_config_file={config}",
        "--saved_model_tags=not_looked_at",
        models=[Model("m", HALF_PLUS_TWO)],
    ) as server, Client(server) as client:
        assert client.half_plus_two([2.0]) == [3.0]

    config.write_text(PLATFORM.format(name="tensorflow", config='saved_model_tags: "train"'))
    with pytest.raises(StartError, match="no meta graph with the tags { train }"):
        Server(f"--platform_config_file={config}", models=[Model("m", HALF_PLUS_TWO)])

    config.write_text(PLATFORM.format(name="caffe", config=""))
    with pytest.raises(StartError, match="there is no platform 'caffe', only 'tensorflow'"):
        Server(f"--platform_config_file={config}", models=[Model("m", HALF_PLUS_TWO)])
