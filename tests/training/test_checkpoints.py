"""Checkpoints of either side are read by the other, and savers go on from each other's folders."""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from training.files import write  # noqa: E402

tf1 = tf.compat.v1

DTYPES = (tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int8, tf.int16, tf.int32, tf.int64,
          tf.uint8, tf.uint16, tf.uint32, tf.uint64, tf.bool, tf.complex64, tf.complex128)


def tensors():
    """One tensor of each dtype, and those of odd shapes."""
    values = {f"dtype/{dtype.name}": tf.cast(tf.constant([[0, 1, 1], [1, 0, 1]]), dtype)
              for dtype in DTYPES}
    values["text"] = tf.constant([["", "a"], ["b" * 300, "\x00\xff"]])
    values["text/scalar"] = tf.constant("one")
    values["empty"] = tf.zeros([0, 3])
    values["empty/text"] = tf.zeros([0], tf.string)
    values["scalar"] = tf.constant(2.5)
    # More than one data file's worth.
    for i in range(3):
        values[f"large/{i}"] = tf.range(8 << 20, dtype=tf.float32) + i
    return values


def save(prefix, values, slices=None):
    slices = slices or [""] * len(values)
    tf.raw_ops.SaveV2(prefix=str(prefix), tensor_names=list(values), shape_and_slices=slices,
                      tensors=list(values.values()))


def assert_holds(prefix, values):
    reader = tf.train.load_checkpoint(str(prefix))
    assert sorted(reader.get_variable_to_shape_map()) == sorted(values)
    for name, value in values.items():
        got = reader.get_tensor(name)
        assert reader.get_variable_to_dtype_map()[name] == value.dtype
        np.testing.assert_array_equal(got, value.numpy(), err_msg=name)


def test_all_dtypes_there_and_back(tmp_path):
    values = tensors()
    save(tmp_path / "theirs", values)
    write("save", tmp_path / "run", tmp_path / "theirs", 7)
    prefix = tf.train.latest_checkpoint(str(tmp_path / "run"))
    assert prefix == str(tmp_path / "run" / "ckpt-7")
    assert_holds(prefix, values)


def test_large_checkpoints_have_several_data_files(tmp_path):
    save(tmp_path / "theirs", tensors())
    write("save", tmp_path / "run", tmp_path / "theirs", 1)
    write("save", tmp_path / "run", tmp_path / "theirs", 1)
    assert_holds(tmp_path / "run" / "ckpt-1", tensors())


def test_slices(tmp_path):
    whole = tf.reshape(tf.range(40.0), [10, 4])
    with tf1.Session(graph=tf.Graph()) as session:
        # Two values under one name, which eager SaveV2 by a dict cannot have.
        session.run(tf.raw_ops.SaveV2(
            prefix=str(tmp_path / "theirs"), tensor_names=["w", "w"],
            shape_and_slices=["10 4 0,3:-", "10 4 3,7:-"],
            tensors=[tf.constant(whole.numpy()[:3]), tf.constant(whole.numpy()[3:])]))
    write("save", tmp_path / "run", tmp_path / "theirs", 1)
    assert_holds(tmp_path / "run" / "ckpt-1", {"w": whole})
    part, = tf.raw_ops.RestoreV2(prefix=str(tmp_path / "run" / "ckpt-1"), tensor_names=["w"],
                                 shape_and_slices=["10 4 2,5:1,2"], dtypes=[tf.float32])
    np.testing.assert_array_equal(part, whole[2:7, 1:3])


def test_objects_of_theirs_stay_objects(tmp_path):
    model = tf.Module()
    model.w = tf.Variable([1.0, 2.0])
    model.deep = tf.Module()
    model.deep.b = tf.Variable(3)
    prefix = tf.train.Checkpoint(model=model).save(str(tmp_path / "theirs"))
    write("save", tmp_path / "run", prefix, 4)
    for value in (model.w, model.deep.b):
        value.assign(tf.zeros_like(value))
    status = tf.train.Checkpoint(model=model).restore(
        tf.train.latest_checkpoint(str(tmp_path / "run")))
    status.assert_existing_objects_matched()
    np.testing.assert_array_equal(model.w, [1.0, 2.0])
    assert model.deep.b.numpy() == 3


def test_objects_of_ours(tmp_path):
    save(tmp_path / "theirs", {"layers/dense/kernel": tf.constant([1.0, 2.0]),
                               "layers/step": tf.constant(5, tf.int64)})
    write("objects", tmp_path / "run", tmp_path / "theirs", 4)
    layers = tf.Module()
    layers.dense = tf.Module()
    layers.dense.kernel = tf.Variable([0.0, 0.0])
    layers.step = tf.Variable(0, dtype=tf.int64)
    status = tf.train.Checkpoint(layers=layers).read(str(tmp_path / "run" / "ckpt-4"))
    status.assert_consumed()
    np.testing.assert_array_equal(layers.dense.kernel, [1.0, 2.0])
    assert layers.step.numpy() == 5


def test_savers_of_version_1_restore(tmp_path):
    save(tmp_path / "theirs", {"v": tf.constant([4.0, 5.0])})
    write("save", tmp_path / "run", tmp_path / "theirs", 9)
    with tf.Graph().as_default(), tf1.Session() as session:
        variable = tf1.get_variable("v", [2])
        tf1.train.Saver().restore(session, tf.train.latest_checkpoint(str(tmp_path / "run")))
        np.testing.assert_array_equal(session.run(variable), [4.0, 5.0])


def test_managers_go_on_from_each_other(tmp_path):
    folder = tmp_path / "run"
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    theirs = tf.train.CheckpointManager(checkpoint, str(folder), max_to_keep=2)
    for step in (1, 2):
        theirs.save(checkpoint_number=step)
    write("save", folder, folder / "ckpt-2", 3)  # keeps two: 1 goes
    state = tf.train.get_checkpoint_state(str(folder))
    assert [path.rsplit("/", 1)[-1] for path in state.all_model_checkpoint_paths] == [
        "ckpt-2", "ckpt-3"]
    assert len(state.all_model_checkpoint_timestamps) == 2
    assert state.last_preserved_timestamp > 0
    assert not list(folder.glob("ckpt-1.*"))

    again = tf.train.CheckpointManager(checkpoint, str(folder), max_to_keep=2)
    checkpoint.v.assign(0.0)
    checkpoint.restore(again.latest_checkpoint).assert_existing_objects_matched()
    assert checkpoint.v.numpy() == 1
    again.save(checkpoint_number=4)
    assert [path.rsplit("/", 1)[-1] for path in again.checkpoints] == ["ckpt-3", "ckpt-4"]
    assert not list(folder.glob("ckpt-2.*"))


def test_version_1_is_restored(tmp_path):
    values = {name: value for name, value in tensors().items()
              if name == "dtype/float32" or not name.startswith(("dtype/", "large/", "empty"))}
    values.update({f"dtype/{name}": tf.cast(tf.constant([[0, 1], [1, 0]]), name) for name in (
        "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "half", "complex64",
        "complex128")})
    save(tmp_path / "theirs", values)
    write("version1", tmp_path / "ours", tmp_path / "theirs")
    for name, value in values.items():
        got = tf.raw_ops.Restore(file_pattern=str(tmp_path / "ours"), tensor_name=name,
                                 dt=value.dtype)
        np.testing.assert_array_equal(got, value, err_msg=name)
