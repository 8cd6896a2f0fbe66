"""The comparison sees what is wrong: recorded answers against themselves and against changed
ones."""

import copy
import json

import numpy as np
import pytest

from conformance import answers, protos, tensors
from conformance.check_models import Recording
from conformance.tensors import Tolerance
from clients.server import DATA

MODELS = DATA / "models"
EXACT = Tolerance()
LOOSE = Tolerance(rtol=1e-3, atol=1e-5)


def tensor(dtype, shape, **values):
    proto = protos.tensor_pb2.TensorProto(dtype=dtype, **values)
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    return proto


def floats(*values, shape=None):
    return tensor(1, [len(values)] if shape is None else shape, float_val=values)


def recorded_predictions():
    for folder in sorted(path for path in MODELS.iterdir() if path.is_dir()):
        for case in Recording.read(folder).cases:
            if case.kind == "predict":
                yield pytest.param(case, id=f"{folder.name}/{case.name}")


@pytest.mark.parametrize("case", list(recorded_predictions()))
def test_recorded_prediction_equals_itself_and_nothing_else(case):
    want = protos.predict_pb2.PredictResponse.FromString(case.read(".response.pb"))
    assert answers.predict_difference(copy.deepcopy(want), want, case.tolerance) is None

    for name, proto in want.outputs.items():
        array = tensors.decode(proto)
        if not array.size or array.dtype.kind not in "fiu":
            continue
        changed = copy.deepcopy(want)
        step = (
            1
            if array.dtype.kind in "iu"
            else 10 * (case.tolerance.atol + case.tolerance.rtol * abs(float(array.flat[-1])))
        )
        wrong = array.copy()
        wrong.flat[-1] += np.array(step, array.dtype)
        # A typed field may hold fewer values than elements: write all of them as bytes instead.
        changed.outputs[name].CopyFrom(
            protos.tensor_pb2.TensorProto(
                dtype=proto.dtype, tensor_shape=proto.tensor_shape, tensor_content=wrong.tobytes()
            )
        )
        last = [size - 1 for size in array.shape]
        difference = answers.predict_difference(changed, want, case.tolerance)
        assert difference.startswith(f"output '{name}': {last} is "), difference


def test_first_difference_names_index_values_and_count():
    difference = tensors.first_difference(
        floats(1, 2, 3.5, 5, shape=[2, 2]), floats(1, 2, 3, 4, shape=[2, 2]), LOOSE
    )
    assert difference == (
        "[1, 0] is 3.5, expected 3 (differs by 0.5, allowed 0.00301); " "2 of 4 elements differ"
    )


@pytest.mark.parametrize(
    "got, want, same",
    [
        (1.0009, 1.0, True),
        (1.0012, 1.0, False),
        (1e-6, 0.0, True),
        (2e-5, 0.0, False),
        (float("nan"), float("nan"), True),
        (float("nan"), 1.0, False),
        (1.0, float("nan"), False),
        (float("inf"), float("inf"), True),
        (float("inf"), float("-inf"), False),
        (1.0, float("inf"), False),
    ],
)
def test_floats_at_the_tolerance(got, want, same):
    assert (tensors.first_difference(floats(got), floats(want), LOOSE) is None) == same


def test_typed_values_and_bytes_are_one_tensor():
    as_bytes = tensor(1, [2], tensor_content=np.array([2.5, 2.5], np.float32).tobytes())
    assert tensors.first_difference(floats(2.5, shape=[2]), as_bytes, EXACT) is None


@pytest.mark.parametrize(
    "got, reason",
    [
        (tensor(2, [1], double_val=[1]), "dtype is DT_DOUBLE, expected DT_FLOAT"),
        (floats(1, 1), "shape is [2], expected [1]"),
        (floats(1, shape=[]), "shape is [], expected [1]"),
        (floats(1, 2, shape=[1]), "not a legal tensor: 2 values for 1 elements"),
        (
            tensor(1, [1], tensor_content=b"\0\0"),
            "not a legal tensor: tensor_content has 2 bytes, not 4",
        ),
    ],
)
def test_shape_type_and_layout_count(got, reason):
    assert tensors.first_difference(got, floats(1), LOOSE) == reason


def test_integers_strings_and_bools_are_exact():
    ints = tensor(9, [1], int64_val=[2**62])
    assert tensors.first_difference(tensor(9, [1], int64_val=[2**62 + 1]), ints, LOOSE) is not None
    assert (
        tensors.first_difference(tensor(9, [1], int64_val=[2**62 + 1]), ints, Tolerance(int_atol=1))
        is None
    )
    assert (
        tensors.first_difference(
            tensor(4, [1], int_val=[0]), tensor(4, [1], int_val=[255]), Tolerance(int_atol=1)
        )
        is not None
    )  # no wrap-around
    assert (
        tensors.first_difference(
            tensor(7, [1], string_val=[b"a"]), tensor(7, [1], string_val=[b"b"]), LOOSE
        )
        == "[0] is b'a', expected b'b'; 1 of 1 elements differ"
    )
    assert tensors.first_difference(tensor(10, [1], bool_val=[True]), tensor(10, [1]), LOOSE)


def test_missing_output_and_other_version_are_seen():
    want = protos.predict_pb2.PredictResponse()
    want.model_spec.version.value = 1
    want.outputs["a"].CopyFrom(floats(1))
    got = copy.deepcopy(want)
    got.model_spec.version.value = 2
    assert answers.predict_difference(got, want, LOOSE) == "model_spec.version is 2, expected 1"
    got = copy.deepcopy(want)
    got.outputs["b"].CopyFrom(floats(1))
    assert answers.predict_difference(got, want, LOOSE) == "outputs are ['a', 'b'], expected ['a']"


def test_classification_and_regression_differences():
    want = protos.classification_pb2.ClassificationResponse()
    want.result.classifications.add().classes.add(label="cat", score=0.5)
    got = copy.deepcopy(want)
    assert answers.classify_difference(got, want, LOOSE) is None
    got.result.classifications[0].classes[0].label = "dog"
    assert (
        answers.classify_difference(got, want, LOOSE)
        == "example 0, class 0: label is 'dog', expected 'cat'"
    )
    want = protos.regression_pb2.RegressionResponse()
    want.result.regressions.add(value=1)
    got = copy.deepcopy(want)
    got.result.regressions[0].value = 2
    assert answers.regress_difference(got, want, LOOSE) == "example 0: value is 2, expected 1"


@pytest.mark.parametrize(
    "got, reason",
    [
        ('{"predictions": [1.0005, 2]}', None),
        ('{"predictions": [1.1, 2]}', "$.predictions[0] is 1.1, expected 1.0"),
        ('{"predictions": [1, 2]}', "$.predictions[0] is 1, expected 1.0"),
        ('{"predictions": [1.0, true]}', "$.predictions[1] is true, expected 2"),
        ('{"predictions": [NaN, 2]}', "$.predictions[0] is nan, expected 1.0"),
        ('{"predictions": [1.0]}', "$.predictions has 1 elements, expected 2"),
        ('{"outputs": [1.0, 2]}', "$ has the keys ['outputs'], expected ['predictions']"),
    ],
)
def test_rest_bodies(got, reason):
    assert answers.rest_difference(got, '{"predictions": [1.0, 2]}', LOOSE) == reason


def test_rest_body_that_is_no_json():
    assert answers.rest_difference("oops", "{}", LOOSE).startswith("the body is not JSON")


def test_recorded_rest_bodies_equal_themselves():
    bodies = sorted(MODELS.glob("*/golden*/*.rest_response.json"))
    assert bodies
    for path in bodies:
        text = path.read_text(encoding="utf-8")
        json.loads(text)
        assert answers.rest_difference(text, text, EXACT) is None, path
