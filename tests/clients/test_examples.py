"""Classify, Regress and MultiInference: models that take tf.Examples."""

import pytest

from clients.client import (
    SECONDS,
    add_examples,
    classify_request,
    fill_example,
    fill_spec,
    multi_inference_request,
    refused,
    regress_request,
)
from tensorflow_serving.apis import classification_pb2, regression_pb2

CLASSIFY = "tensorflow/serving/classify"
REGRESS = "tensorflow/serving/regress"


def test_classify(client):
    response = client.prediction.Classify(
        classify_request("m", [{"x": 20.0}, {"x": 10.0}], signature="classify_x_to_y"),
        timeout=SECONDS,
    )
    assert [
        [(c.label, c.score) for c in row.classes] for row in response.result.classifications
    ] == [[("", 12.0)], [("", 7.0)]]
    assert response.model_spec.version.value == 123
    assert response.model_spec.signature_name == "classify_x_to_y"


def test_regress(client):
    response = client.prediction.Regress(
        regress_request("m", [{"x": 80.0}, {"x": 2.0}], signature="regress_x_to_y"), timeout=SECONDS
    )
    assert [row.value for row in response.result.regressions] == [42.0, 3.0]


def test_an_examples_feature_wins_over_the_contexts(client):
    request = regression_pb2.RegressionRequest()
    fill_spec(request.model_spec, "m", signature="regress_x_to_y")
    examples = request.input.example_list_with_context
    fill_example(examples.context, {"x": 80.0})
    add_examples(examples.examples, [{"x": 2.0}, {}])
    response = client.prediction.Regress(request, timeout=SECONDS)
    assert [row.value for row in response.result.regressions] == [3.0, 42.0]


@pytest.mark.parametrize(
    "code, words, request_",
    [
        ("INVALID_ARGUMENT", "Missing ModelSpec", classification_pb2.ClassificationRequest()),
        ("INVALID_ARGUMENT", "", classify_request("", [{"x": 1.0}])),
        ("NOT_FOUND", "Servable", classify_request("nope", [{"x": 1.0}])),
        (
            "INVALID_ARGUMENT",
            "No signature was found with the name: nope",
            classify_request("m", [{"x": 1.0}], signature="nope"),
        ),
        (
            "INVALID_ARGUMENT",
            "Input is empty.",
            classify_request("m", [], signature="classify_x_to_y"),
        ),
        ("INVALID_ARGUMENT", "", classify_request("m", [{}], signature="classify_x_to_y")),
        ("INVALID_ARGUMENT", "", classify_request("m", [{"x": 2}], signature="classify_x_to_y")),
        ("INVALID_ARGUMENT", "", classify_request("m", [{"x": "2"}], signature="classify_x_to_y")),
        ("INVALID_ARGUMENT", "", classify_request("m", [{"x": 1.0}], signature="regress_x_to_y")),
        ("INVALID_ARGUMENT", "", classify_request("m", [{"x": 1.0}], signature="serving_default")),
    ],
)
def test_refused_classifications(client, code, words, request_):
    with refused(code, words):
        client.prediction.Classify(request_, timeout=SECONDS)


@pytest.mark.parametrize(
    "code, request_",
    [
        ("NOT_FOUND", regress_request("m", [{"x": 1.0}], signature="regress_x_to_y", version=9)),
        ("INVALID_ARGUMENT", regress_request("m", [{"x": 1.0}], signature="classify_x_to_y")),
        ("INVALID_ARGUMENT", regress_request("m", [], signature="regress_x_to_y")),
    ],
)
def test_refused_regressions(client, code, request_):
    with refused(code):
        client.prediction.Regress(request_, timeout=SECONDS)


def test_multi_inference_answers_in_task_order(client):
    response = client.prediction.MultiInference(
        multi_inference_request(
            ("m", "regress_x_to_y", REGRESS),
            ("m", "classify_x_to_y", CLASSIFY),
            ("m", "regress_x_to_y2", REGRESS),
        ),
        timeout=SECONDS,
    )
    first, second, third = response.results
    assert [result.model_spec.signature_name for result in response.results] == [
        "regress_x_to_y",
        "classify_x_to_y",
        "regress_x_to_y2",
    ]
    assert first.regression_result.regressions[0].value == 3.0
    assert second.classification_result.classifications[0].classes[0].score == 3.0
    assert third.regression_result.regressions[0].value == 4.0


@pytest.mark.parametrize(
    "code, request_",
    [
        ("INVALID_ARGUMENT", multi_inference_request()),
        ("NOT_FOUND", multi_inference_request(("nope", "regress_x_to_y", REGRESS))),
        (
            "INVALID_ARGUMENT",
            multi_inference_request(
                ("m", "regress_x_to_y", REGRESS), ("digits", "classify_x_to_y", CLASSIFY)
            ),
        ),
        (
            "INVALID_ARGUMENT",
            multi_inference_request(
                ("m", "regress_x_to_y", REGRESS), ("m", "regress_x_to_y", REGRESS)
            ),
        ),
        ("INVALID_ARGUMENT", multi_inference_request(("m", "nope", REGRESS))),
        (
            "UNIMPLEMENTED",
            multi_inference_request(("m", "regress_x_to_y", "tensorflow/serving/predict")),
        ),
        (
            "INVALID_ARGUMENT",
            multi_inference_request(("m", "regress_x_to_y", REGRESS), features=()),
        ),
    ],
)
def test_refused_multi_inference_request(client, code, request_):
    with refused(code):
        client.prediction.MultiInference(request_, timeout=SECONDS)
