"""New weights for a live graph: checkpoints as TensorFlow writes them, pushed as versions.

Every answer is compared with TensorFlow's own for the same weights.
"""

import json
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow_serving.apis import model_management_pb2, predict_pb2

from clients.client import SECONDS, Client, array, predict_request
from clients.fault_steps import publish, wait_for_state, wait_until
from clients.server import DATA, Model, Server, config_text

v1 = tf.compat.v1
X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION, DATA_LOSS = 3, 5, 9, 15


class Net(tf.Module):
    """y = relu(x @ w) @ v + b."""

    def __init__(self, seed, width=8, dtype=tf.float32):
        super().__init__()
        random = np.random.default_rng(seed)
        self.w = tf.Variable(random.normal(size=(4, width)), dtype=dtype, name="w")
        self.v = tf.Variable(random.normal(size=(width, 3)), dtype=dtype, name="v")
        self.b = tf.Variable(random.normal(size=3), dtype=dtype, name="b")

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def __call__(self, x):
        return {"y": tf.nn.relu(x @ self.w) @ self.v + self.b}

    def answer(self):
        return self(X)["y"].numpy()


def save_net(folder, seed):
    net = Net(seed)
    tf.saved_model.save(net, str(folder), signatures=net.__call__)
    return net


def keras_net():
    import keras

    keras.utils.clear_session()
    net = keras.Sequential(
        [
            keras.layers.Input((4,), name="x"),
            keras.layers.Dense(8),
            keras.layers.BatchNormalization(),
            keras.layers.ReLU(),
            keras.layers.Dense(3, name="y"),
        ]
    )
    net.compile("adam", "mse")
    return net


def train(net):
    """Steps that move all weights, batch norm's statistics and the optimizer's slots."""
    random = np.random.default_rng(5)
    x = random.normal(size=(64, 4)).astype(np.float32)
    net.fit(x, random.normal(size=(64, 3)).astype(np.float32), epochs=3, verbose=0)
    return net(X, training=False).numpy()


# Each of these writes a SavedModel to `model`, then other weights to `pushed`, and returns what
# TensorFlow answers with those.


def module_checkpoint(model, pushed):
    save_net(model, 1)
    net = Net(2)
    tf.train.Checkpoint(model=net, step=tf.Variable(3)).write(str(pushed / "ckpt"))
    return net.answer()


def variables_of_a_saved_model(model, pushed):
    save_net(model, 1)
    net = save_net(pushed.with_suffix(".whole"), 2)
    shutil.move(pushed.with_suffix(".whole") / "variables", pushed / "variables")
    return net.answer()


def keras_export(model, pushed):
    net = keras_net()
    net.export(str(model), verbose=False)
    answer = train(net)
    tf.train.Checkpoint(model=net, optimizer=net.optimizer).save(str(pushed / "ckpt"))
    return answer


def keras_saved_model(model, pushed):
    """Its graph restores other variables than its signatures read."""
    net = keras_net()
    spec = tf.TensorSpec([None, 4], tf.float32, name="x")
    call = tf.function(lambda x: {"y": net(x)}, input_signature=[spec])
    tf.saved_model.save(net, str(model), signatures=call)
    answer = train(net)
    tf.train.Checkpoint(model=net, optimizer=net.optimizer).save(str(pushed / "ckpt"))
    return answer


def names_for_objects(model, pushed):
    save_net(model, 1)
    net = Net(2)
    save_by_name(pushed / "model.ckpt-7", {"w": net.w, "v": net.v, "b": net.b})
    return net.answer()


def save_by_name(prefix, tensors):
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(tensors),
        shape_and_slices=[""] * len(tensors),
        tensors=[tf.convert_to_tensor(tensor) for tensor in tensors.values()],
    )


def v1_net(kind):
    """The graph of Net for a Session: (x, y)."""
    v1.disable_resource_variables() if kind == "ref" else v1.enable_resource_variables()
    x = v1.placeholder(tf.float32, [None, 4], name="x")
    partitioner = v1.fixed_size_partitioner(2) if kind == "partitioned" else None
    devices = ["/cpu:1", "/cpu:0"] if kind == "sharded" else ["/cpu:0"]
    with v1.variable_scope("net", partitioner=partitioner):
        initializer = v1.random_normal_initializer()
        with tf.device(devices[0]):
            w = v1.get_variable("w", [4, 8], initializer=initializer)
        with tf.device(devices[-1]):
            v = v1.get_variable("v", [8, 3], initializer=initializer)
    y = tf.matmul(tf.nn.relu(tf.matmul(x, tf.convert_to_tensor(w))), tf.convert_to_tensor(v))
    return x, y


def v1_saver(kind):
    def make(model, pushed):
        config = v1.ConfigProto(device_count={"CPU": 2})
        with tf.Graph().as_default(), v1.Session(config=config) as session:
            try:
                x, y = v1_net(kind)
            finally:
                v1.enable_resource_variables()
            session.run(v1.global_variables_initializer())
            v1.saved_model.simple_save(session, str(model), {"x": x}, {"y": y})
            session.run(v1.global_variables_initializer())
            saver = v1.train.Saver(sharded=kind == "sharded")
            saver.save(session, str(pushed / "model.ckpt"), global_step=20000)
            return session.run(y, {x: X})

    make.__name__ = f"v1_saver_{kind}"
    return make


PUSHES = [
    module_checkpoint,
    variables_of_a_saved_model,
    keras_export,
    keras_saved_model,
    names_for_objects,
    v1_saver("resource"),
    v1_saver("ref"),
    v1_saver("partitioned"),
    v1_saver("sharded"),
]


def ask(client, model="m", **spec):
    response = client.predict(predict_request(model, {"x": X}, **spec))
    (output,) = response.outputs.values()
    return array(output)


def renaming_server(models):
    """A server for versions that are complete once they are renamed: it need not let them settle."""
    return Server("--version_settle_seconds=0", models=models)


def look(client, models):
    """Makes the server look for versions at once."""
    request = model_management_pb2.ReloadConfigRequest()
    text_format.Parse(config_text(models), request.config)
    response = client.models.HandleReloadConfigRequest(request, timeout=SECONDS)
    assert response.status.error_code == 0, response.status.error_message


@pytest.fixture(scope="module", name="pushes")
def _pushes(tmp_path_factory):
    """Every push on a server of its own graph: {name: (base path, TensorFlow's answer)}."""
    root = tmp_path_factory.mktemp("pushes")
    made = {}
    for make in PUSHES:
        folder = root / make.__name__
        (folder / "2.tmp").mkdir(parents=True)
        made[make.__name__] = folder, make(folder / "1", folder / "2.tmp")
    return made


def test_pushed_weights_answer_as_in_tensorflow(pushes):
    models = [Model(name, folder) for name, (folder, _) in pushes.items()]
    with renaming_server(models) as server, Client(server) as client:
        before = {name: ask(client, name) for name in pushes}
        for folder, _ in pushes.values():
            (folder / "2.tmp").rename(folder / "2")
        for name, (_, expected) in pushes.items():
            assert wait_for_state(client, name, 2, "AVAILABLE") == (0, ""), name
            np.testing.assert_allclose(ask(client, name), expected, 1e-4, 1e-5, err_msg=name)
            assert np.abs(before[name] - expected).max() > 1e-3, f"{name}: nothing was pushed"
            wait_for_state(client, name, 1, "END")
        status, _, body = server.http("GET", f"/v1/models/{PUSHES[0].__name__}/metadata")
        assert status == 200 and b'"serving_default"' in body
        assert server.stop() == 0, server.log()
    # After a restart the weights find their graph again.
    with renaming_server(models) as server, Client(server) as client:
        for name, (_, expected) in pushes.items():
            assert client.version_states(name)[2][0] == "AVAILABLE", name
            np.testing.assert_allclose(ask(client, name), expected, 1e-4, 1e-5, err_msg=name)


OWN = ("bert_tiny", "keras_multi_io", "resnet50_narrow", "timeseries_lstm_forecast")


def test_the_same_weights_give_the_same_bits(tmp_path):
    """A push of what a model has already: nothing that a full load makes of the graph is lost."""
    requests = {}
    for name in OWN:
        recorded = DATA / "models" / name
        shutil.copytree(recorded / "1", tmp_path / name / "1")
        shutil.copytree(recorded / "1" / "variables", tmp_path / name / "2.tmp" / "variables")
        request = predict_pb2.PredictRequest()
        request.ParseFromString((recorded / "golden" / "case_0.request.pb").read_bytes())
        request.model_spec.name = name
        requests[name] = request
    models = [Model(name, tmp_path / name) for name in OWN]
    with renaming_server(models) as server, Client(server) as client:
        for name, request in requests.items():
            before = client.predict(request)
            (tmp_path / name / "2.tmp").rename(tmp_path / name / "2")
            look(client, models)
            assert wait_for_state(client, name, 2, "AVAILABLE") == (0, ""), name
            after = client.predict(request)
            assert (before.model_spec.version.value, after.model_spec.version.value) == (1, 2)
            assert before.outputs.keys() == after.outputs.keys() != set()
            for output in before.outputs:
                np.testing.assert_array_equal(array(after.outputs[output]), array(before.outputs[output]))


def test_a_push_prepares_and_neither_imports_nor_compiles(tmp_path):
    shutil.copytree(DATA / "models" / "bert_tiny" / "1", tmp_path / "m" / "1")
    models = [Model("m", tmp_path / "m")]
    flags = ("--version_settle_seconds=0", "--enable_dashboard")
    with Server(*flags, models=models) as server, Client(server) as client:
        shutil.copytree(tmp_path / "m" / "1" / "variables", tmp_path / "2.tmp" / "variables")
        (tmp_path / "2.tmp").rename(tmp_path / "m" / "2")
        wait_for_state(client, "m", 2, "AVAILABLE")
        _, _, timeline = server.http("GET", "/dashboard/api/timeline")
        stages = {load["version"]: dict(load["stages"]) for load in json.loads(timeline)["loads"]}
        whole, pushed = stages["1"], stages["2"]
        assert whole.keys() >= {"read", "import", "restore_graph", "compile", "warm_up"}
        assert "prepare" not in whole
        assert pushed.keys() >= {"restore_graph", "prepare", "warm_up"}
        assert not pushed.keys() & {"read", "import", "compile"}, pushed


def missing(folder):
    save_by_name(folder / "c", {"w": Net(2).w, "v": Net(2).v})
    return INVALID_ARGUMENT, ["'b/.ATTRIBUTES/VARIABLE_VALUE' is missing"]


def wrong_shape(folder):
    tf.train.Checkpoint(model=Net(2, width=9)).write(str(folder / "c"))
    return INVALID_ARGUMENT, ["has shape [4,9], the graph's is [4,8]", "2 of the graph's 3"]


def wrong_dtype(folder):
    tf.train.Checkpoint(model=Net(2, dtype=tf.float64)).write(str(folder / "c"))
    return INVALID_ARGUMENT, ["is double, the graph's is float"]


def another_model(folder):
    tf.train.Checkpoint(model=keras_net()).write(str(folder / "c"))
    return INVALID_ARGUMENT, ["checkpoint of another model"]


def cut_data(folder):
    tf.train.Checkpoint(model=Net(2)).write(str(folder / "c"))
    data = folder / "c.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:50])
    return DATA_LOSS, ["c.data-00000-of-00001"]


def cut_index(folder):
    tf.train.Checkpoint(model=Net(2)).write(str(folder / "c"))
    index = folder / "c.index"
    index.write_bytes(index.read_bytes()[:-9])
    return DATA_LOSS, ["c.index"]


def several_checkpoints(folder):
    for name in ("c", "d"):
        tf.train.Checkpoint(model=Net(2)).write(str(folder / name))
    return FAILED_PRECONDITION, ["several checkpoints ('c', 'd')"]


BAD_PUSHES = [
    missing,
    wrong_shape,
    wrong_dtype,
    another_model,
    cut_data,
    cut_index,
    several_checkpoints,
]


def test_weights_that_do_not_fit_leave_the_live_version(tmp_path):
    base = tmp_path / "m"
    live = save_net(base / "1", 1).answer()
    models = [Model("m", base)]
    with renaming_server(models) as server, Client(server) as client:
        for version, make in enumerate(BAD_PUSHES, start=2):
            folder = base / f"{version}.tmp"
            folder.mkdir()
            code, parts = make(folder)
            folder.rename(base / str(version))
            look(client, models)
            got, message = wait_for_state(client, "m", version, "END")
            assert got == code, f"{make.__name__}: {message}"
            for part in [*parts, str(base / str(version))]:
                assert part in message, f"{make.__name__}: {message}"
            np.testing.assert_allclose(ask(client), live, 1e-5)
        (base / "20.tmp").mkdir()
        answer = module_checkpoint(tmp_path / "unused", base / "20.tmp")
        (base / "20.tmp").rename(base / "20")
        wait_for_state(client, "m", 20, "AVAILABLE")
        np.testing.assert_allclose(ask(client), answer, 1e-5)


def test_weights_without_a_graph(tmp_path):
    base = tmp_path / "m"
    save_net(base / "7", 1)
    (base / "3").mkdir()
    module_checkpoint(tmp_path / "unused", base / "3")
    with Server(models=[Model("m", base, versions=[3, 7])]) as server, Client(server) as client:
        code, message = wait_for_state(client, "m", 3, "END")
        assert code == NOT_FOUND and "nor a version below 3" in message


class Trainer:
    """A training job: its folder, with the graph beside the checkpoints."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.net = save_net(self.folder / "graph", 0)
        self.step = tf.Variable(0, dtype=tf.int64)
        self.checkpoint = tf.train.Checkpoint(model=self.net, step=self.step)
        self._manager = tf.train.CheckpointManager(self.checkpoint, str(folder), max_to_keep=2)

    def save(self, step):
        """Trains up to a step, saves, and returns TensorFlow's answer."""
        other = Net(step)
        for variable, value in zip(self.net.variables, other.variables):
            variable.assign(value)
        self._manager.save(checkpoint_number=step)
        return other.answer()


def test_the_folder_of_a_training_job_is_followed(tmp_path):
    trainer = Trainer(tmp_path / "run")
    answer = trainer.save(10)
    with Server(models=[Model("m", trainer.folder)]) as server, Client(server) as client:
        np.testing.assert_allclose(ask(client, version=10), answer, 1e-5)
        for step in (20, 30, 40):
            answer = trainer.save(step)
            wait_for_state(client, "m", step, "AVAILABLE")
            np.testing.assert_allclose(ask(client), answer, 1e-5)
            assert client.predict(predict_request("m", {"x": X})).model_spec.version.value == step
        assert not (trainer.folder / "ckpt-10.index").exists(), "the trainer deletes old ones"

        # A checkpoint whose data is deleted before it is loaded.
        trainer.checkpoint.write(str(trainer.folder / "ckpt-50"))
        (trainer.folder / "ckpt-50.data-00000-of-00001").unlink()
        v1.train.update_checkpoint_state(str(trainer.folder), str(trainer.folder / "ckpt-50"))
        code, message = wait_for_state(client, "m", 50, "END")
        assert code == DATA_LOSS and "ckpt-50.data-00000-of-00001" in message, message
        np.testing.assert_allclose(ask(client), answer, 1e-5)
        answer = trainer.save(60)
        wait_for_state(client, "m", 60, "AVAILABLE")
        np.testing.assert_allclose(ask(client), answer, 1e-5)


def test_fifty_pushes_leave_nothing_behind(tmp_path):
    base, floats = tmp_path / "m", 1 << 20

    def push(version):
        folder = base / f"{version}.tmp"
        folder.mkdir()
        save_by_name(folder / "w", {"w": tf.fill([floats // 64, 64], float(version))})
        folder.rename(base / str(version))

    module = tf.Module()
    module.w = tf.Variable(tf.ones([floats // 64, 64]), name="w")
    spec = tf.TensorSpec([None, 4], tf.float32, name="x")
    function = tf.function(lambda x: {"y": x * tf.reduce_mean(module.w)}, input_signature=[spec])
    tf.saved_model.save(module, str(base / "1"), signatures=function)
    models = [Model("m", base)]
    with renaming_server(models) as server, Client(server) as client:
        status = pathlib.Path("/proc") / str(server.process.pid) / "status"

        def anonymous_mebibytes():
            lines = status.read_text().splitlines()
            (line,) = (line for line in lines if line.startswith("RssAnon"))
            return int(line.split()[1]) / 1024

        def mapped():
            maps = (status.parent / "maps").read_text().splitlines()
            return {line.split(str(base) + "/")[1].split("/")[0] for line in maps if str(base) in line}

        for version in range(2, 52):
            push(version)
            look(client, models)
            wait_for_state(client, "m", version, "AVAILABLE")
            if version > 3:
                shutil.rmtree(base / str(version - 2))
            if version == 12:
                early = anonymous_mebibytes()
        np.testing.assert_allclose(ask(client), X * 51, 1e-5)
        wait_until(lambda: mapped() <= {"51"}, lambda: f"still mapped: {mapped()}")
        # The weights of the pushes since are 156 MiB.
        wait_until(
            lambda: anonymous_mebibytes() < early + 64,
            lambda: f"{early} MiB after ten pushes, now {anonymous_mebibytes()}",
        )
