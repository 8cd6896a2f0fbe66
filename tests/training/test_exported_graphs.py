"""MetaGraphs that `tessera train` exports, as TensorFlow loads them: tables, files that these read,
and variables that no step reaches."""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from training.train_jobs import train  # noqa: E402

v1 = tf.compat.v1
WORDS = ("one", "two", "three")
JOB = """
graph:
  meta_graph: forward.meta
  outputs: {out: out}
  loss: {type: mean_squared_error, output: out, label: y}
  optimizer: {type: sgd, learning_rate: 0.1}
data:
  train:
    files: [rows.csv]
    format: csv
    csv_header: true
    fields: [{name: word, dtype: string}, {name: y, dtype: float32}]
batch: 3
steps: 4
seed: 1
threads: 1
export: {base_path: served, inputs: {word: word}, outputs: {out: out, head: "head:0"}}
"""


def write_job(folder, with_saver):
    """A graph that looks words up in a vocabulary, and has a head that the loss does not reach."""
    vocabulary = folder / "words.txt"
    vocabulary.write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    with v1.Graph().as_default():
        word = v1.placeholder(tf.string, [None], name="word")
        path = tf.constant(str(vocabulary), name="vocabulary")
        v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, path)
        table = tf.lookup.StaticVocabularyTable(tf.lookup.TextFileInitializer(
            path, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER), 1)
        values = v1.get_variable("values", initializer=np.zeros(4, np.float32), use_resource=True)
        bias = v1.get_variable("bias", initializer=np.float32(7), use_resource=True,
                               trainable=False)
        out = tf.identity(tf.gather(values, table.lookup(word)), name="out")
        tf.add(out, bias, name="head")
        v1.tables_initializer()
        if with_saver:
            v1.train.Saver().export_meta_graph(str(folder / "forward.meta"))
        else:
            v1.train.export_meta_graph(str(folder / "forward.meta"))
    rows = [f"{word},{i + 1}" for i, word in enumerate(WORDS)]
    (folder / "rows.csv").write_text("\n".join(["word,y", *rows]) + "\n", encoding="utf-8")
    (folder / "job.yaml").write_text(JOB, encoding="utf-8")
    return folder / "job.yaml"


@pytest.mark.parametrize("with_saver", [True, False])
def test_an_exported_graph_has_its_tables_and_all_variables(with_saver, tmp_path):
    process = train(write_job(tmp_path, with_saver))
    assert process.returncode == 0, process.stderr
    checkpoint = tf.train.latest_checkpoint(str(tmp_path / "run" / "checkpoints"))
    names = {name for name, _ in tf.train.list_variables(checkpoint)}
    assert {"values", "bias", "global_step"} <= names

    (tmp_path / "words.txt").unlink()  # the version has a copy
    model = tf.saved_model.load(str(tmp_path / "served" / "1"))
    answer = model.signatures["serving_default"](word=tf.constant([*WORDS, "none"]))
    values = tf.train.load_checkpoint(checkpoint).get_tensor("values")
    assert values[:3].all() and not values[3]
    np.testing.assert_array_equal(answer["out"], values)
    np.testing.assert_array_equal(answer["head"], values + np.float32(7))


def test_keys_that_change_nothing_are_refused(job):
    for key, value in (("optimizer", "{type: adam}"), ("clip", "{norm: 1}"),
                       ("trainable", "[w]"), ("loss_tensor", "loss")):
        process = train(job, "--dry-run", **{f"graph__{key}": value})
        assert process.returncode == 3, process.stdout
        assert f"graph.{key} has no effect" in process.stdout + process.stderr
