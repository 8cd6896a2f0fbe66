"""The models of `scripts/gpu/bench` as they travel: without their weights, which are made anew."""

import json
import subprocess
import sys

import numpy as np
import pytest

from clients.server import REPOSITORY

sys.path.append(str(REPOSITORY / "benchmarks"))
sys.path.append(str(REPOSITORY / "benchmarks" / "models"))

# pylint: disable=wrong-import-position
import left_out_weights
import seeded_weights


def variables_of(folder, content):
    (folder / "variables").mkdir()
    file = folder / "variables" / "variables.data-00000-of-00001"
    file.write_bytes(content)
    return file


def noise(*shape):
    return np.random.default_rng(7).standard_normal(shape, np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint16])
def test_values_come_back_where_they_were(tmp_path, dtype):
    first, second = noise(40, 30).astype(dtype), noise(1000).astype(dtype)[::-1].copy()
    content = b"".join(
        [b"text", first.tobytes(), bytes(5000), second.tobytes(), b"\1" * 100, bytes(3)]
    )
    file = variables_of(tmp_path, content)
    arrays = {"first": first, "second": second}
    left_out_weights.take_out(tmp_path, arrays)
    assert not file.exists()
    kept = (tmp_path / "variables" / left_out_weights.NAME).stat().st_size
    assert kept < 1000, "the values were kept"
    left_out_weights.put_back(tmp_path, arrays)
    assert file.read_bytes() == content
    assert [entry.name for entry in (tmp_path / "variables").iterdir()] == [file.name]


def test_array_after_zeros_may_begin_with_zeros(tmp_path):
    array = noise(100)
    array[0] = 0
    array[1:].view(np.uint8)[:2] = 0
    content = bytes(1000) + array.tobytes()
    file = variables_of(tmp_path, content)
    left_out_weights.take_out(tmp_path, {"array": array})
    left_out = json.loads((tmp_path / "variables" / left_out_weights.NAME).read_text())
    assert left_out["arrays"] == [[1000, "array"]]
    left_out_weights.put_back(tmp_path, {"array": array})
    assert file.read_bytes() == content


def test_bytes_that_are_no_known_value_are_kept(tmp_path):
    """Arrays too short to be told apart, one that differs in its last number, and no bytes at all."""
    array = noise(100)
    other = array.copy()
    other[-1] += 1
    short = noise(3)
    content = other.tobytes() + short.tobytes()
    file = variables_of(tmp_path, content)
    arrays = {"array": array, "short": short, "empty": noise(0)}
    left_out_weights.take_out(tmp_path, arrays)
    left_out_weights.put_back(tmp_path, arrays)
    assert file.read_bytes() == content
    file.write_bytes(b"")
    left_out_weights.take_out(tmp_path, arrays)
    left_out_weights.put_back(tmp_path, arrays)
    assert file.read_bytes() == b""


def test_weights_are_rounded_to_bfloat16_as_numpy_rounds():
    from ml_dtypes import bfloat16

    values = np.concatenate([noise(10000), np.float32([0, -0.0, 1 + 2**-8, 1 + 3 * 2**-8, 3e38])])
    stored = seeded_weights.stored([("w/kernel", [len(values)], "bfloat16")], {"w/kernel": values})
    np.testing.assert_array_equal(stored["w/kernel"], values.astype(bfloat16).view(np.uint16))


def test_small_models_travel_without_their_weights(tmp_path):
    """In the dtype that was asked for, and with the bytes that they had."""
    written = tmp_path / "written"
    subprocess.run(
        [sys.executable, REPOSITORY / "benchmarks" / "on_gpu.py", "--write", written, "--small",
         "--models=decoder_1b"],
        check=True, stderr=subprocess.DEVNULL,
    )
    for policy in ("float32", "bfloat16"):
        folder = written / f"decoder_1b-{policy}"
        specs = json.loads((folder / "facts.json").read_text())["weights"]
        assert {dtype for _, _, dtype in specs} == {policy}
        left_out = json.loads((folder / "model/variables" / left_out_weights.NAME).read_text())
        assert {name for _, name in left_out["arrays"]} == {path for path, _, _ in specs}
        values = seeded_weights.stored(specs, seeded_weights.make(specs))
        left_out_weights.put_back(folder / "model", values)
        # TensorFlow compares the checksums that lie in the index.
        import tensorflow as tf

        reader = tf.train.load_checkpoint(str(folder / "model/variables/variables"))
        shapes = reader.get_variable_to_shape_map()
        total = sum(np.asarray(reader.get_tensor(name)).size for name in shapes)
        assert total >= sum(value.size for value in values.values())
