"""SavedModels and MetaGraphs that a job writes are loaded by TensorFlow, and served."""

import subprocess

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tensorflow.core.protobuf import fingerprint_pb2  # noqa: E402
from tensorflow.python.saved_model.pywrap_saved_model import fingerprinting  # noqa: E402

from clients.server import binary, environment  # noqa: E402
from training.files import write  # noqa: E402

tf1 = tf.compat.v1


@pytest.fixture(scope="module", name="sources")
def _sources(tmp_path_factory):
    """A folder with a graph of version 1, the values of its variables, and a vocabulary."""
    folder = tmp_path_factory.mktemp("sources")
    (folder / "words").write_text("zero\none\ntwo\n")
    with tf.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        w = tf1.get_variable("w", initializer=tf.constant([[1.0], [2.0]]), use_resource=True)
        b = tf1.get_variable("b", initializer=tf.constant([0.5]), use_resource=False)
        y = tf.add(tf.matmul(x, w), b, name="y")
        words = tf.constant(str(folder / "words"), name="asset_path")
        table = tf.lookup.StaticHashTable(
            tf.lookup.TextFileInitializer(words, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER,
                                          tf.string, tf.lookup.TextFileIndex.WHOLE_LINE), "?")
        word = table.lookup(tf.constant([1, 7], tf.int64))
        tf1.tables_initializer()
        session.run(tf1.global_variables_initializer())
        meta = tf1.train.export_meta_graph(clear_devices=True)
        meta.ClearField("saver_def")
        meta.signature_def["serving_default"].CopyFrom(
            tf1.saved_model.build_signature_def(
                {"x": tf1.saved_model.build_tensor_info(x)},
                {"y": tf1.saved_model.build_tensor_info(y),
                 "word": tf1.saved_model.build_tensor_info(word)}, "ignored"))
        for name in ("table_initializer", "asset_filepaths"):
            meta.collection_def.pop(name, None)
        (folder / "graph.meta").write_bytes(meta.SerializeToString())
    tf.raw_ops.SaveV2(prefix=str(folder / "values"), tensor_names=["w", "b"],
                      shape_and_slices=["", ""],
                      tensors=[tf.constant([[3.0], [4.0]]), tf.constant([1.0])])
    return folder


@pytest.fixture(scope="module", name="model")
def _model(sources, tmp_path_factory):
    """A SavedModel of that graph, and its MetaGraph beside it."""
    folder = tmp_path_factory.mktemp("models") / "1"
    write("export", sources / "graph.meta", sources / "values", folder, sources / "words")
    return folder


def test_version_1_loads_it(model):
    with tf.Graph().as_default(), tf1.Session() as session:
        meta = tf1.saved_model.load(session, ["serve"], str(model))
        signature = meta.signature_def["serving_default"]
        assert signature.method_name == "tensorflow/serving/predict"
        y, word = session.run(
            [signature.outputs["y"].name, signature.outputs["word"].name],
            {signature.inputs["x"].name: [[1.0, 1.0]]})
        np.testing.assert_array_equal(y, [[8.0]])
        assert list(word) == [b"one", b"?"]


def test_version_2_loads_it(model):
    signature = tf.saved_model.load(str(model)).signatures["serving_default"]
    answer = signature(x=tf.constant([[1.0, 1.0]]))
    np.testing.assert_array_equal(answer["y"], [[8.0]])
    assert list(answer["word"].numpy()) == [b"one", b"?"]


def test_our_program_runs_it(model):
    done = subprocess.run(
        [str(binary()), "run", str(model), "--input=x=[[1.0, 1.0]]"], check=True,
        capture_output=True, text=True, env=environment(), timeout=60)
    assert "8" in done.stdout and "one" in done.stdout, done.stdout


def test_the_meta_graph_is_imported_and_trained_on(model, sources, tmp_path):
    with tf.Graph().as_default(), tf1.Session() as session:
        saver = tf1.train.import_meta_graph(f"{model}.meta")
        saver.restore(session, str(sources / "values"))
        assert [v.name for v in tf1.trainable_variables()] == ["w:0", "b:0"]
        np.testing.assert_array_equal(session.run("b:0"), [1.0])
        saver.save(session, str(tmp_path / "again"), write_meta_graph=False)
    reader = tf.train.load_checkpoint(str(tmp_path / "again"))
    np.testing.assert_array_equal(reader.get_tensor("w"), [[3.0], [4.0]])


def test_the_fingerprint_is_tensorflows(model):
    ours = tf.saved_model.experimental.read_fingerprint(str(model))
    theirs = fingerprint_pb2.FingerprintDef.FromString(
        fingerprinting.CreateFingerprintDef(str(model)))
    assert ours.saved_model_checksum == theirs.saved_model_checksum
    assert ours.checkpoint_hash == theirs.checkpoint_hash


class Counter(tf.Module):
    """A model of version 2 with an asset."""

    def __init__(self, words):
        super().__init__()
        self.w = tf.Variable([1.0, 2.0])
        self.words = tf.saved_model.Asset(words)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def scale(self, x):
        return {"y": x * self.w, "text": tf.io.read_file(self.words)}


def test_a_copy_has_other_weights(sources, tmp_path):
    module = Counter(str(sources / "words"))
    tf.saved_model.save(module, str(tmp_path / "1"), signatures=module.scale)
    key = "w/.ATTRIBUTES/VARIABLE_VALUE"
    tf.raw_ops.SaveV2(prefix=str(tmp_path / "values"), tensor_names=[key], shape_and_slices=[""],
                      tensors=[tf.constant([5.0, 6.0])])
    write("copy", tmp_path / "1", tmp_path / "2", tmp_path / "values")
    for version, values in (("1", [2.0, 4.0]), ("2", [10.0, 12.0])):
        loaded = tf.saved_model.load(str(tmp_path / version))
        answer = loaded.signatures["serving_default"](x=tf.constant(2.0))
        np.testing.assert_array_equal(answer["y"], values)
        assert answer["text"].numpy() == b"zero\none\ntwo\n"


def test_what_does_not_fit_leaves_nothing(sources, tmp_path):
    module = Counter(str(sources / "words"))
    tf.saved_model.save(module, str(tmp_path / "1"), signatures=module.scale)
    error = write("copy", tmp_path / "1", tmp_path / "2", sources / "values", fails=True)
    assert "'b'" in error and "no such variable" in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1"]
