"""Batching of requests: what clients of TensorFlow Serving see of it."""

import json
import re
import shutil
import threading

import grpc
import numpy as np

from clients.batching_client import (
    FOREVER,
    await_refusals,
    held,
    look,
    metrics,
    occupy,
    queue_length,
    rows,
    send,
    values,
)
from clients.client import (
    array,
    classify_request,
    multi_inference_request,
    predict_request,
    refused,
    regress_request,
)
from clients.conftest import DIGITS
from clients.fault_steps import wait_for_state, wait_until
from clients.server import Model


# ---- sizes ----


def test_defaults(start_batching):
    server = start_batching()
    assert rows(send(server, look(np.zeros(1000)))[0]) == [1000] * 1000
    with refused("INVALID_ARGUMENT", "Task size 1001 is larger than maximum input batch size 1000"):
        server.client.predict(look(np.zeros(1001)))
    assert values(send(server, look([2.0]))[0]) == [3.0], "nobody else is waited for"


def test_requests_that_come_together_run_together(start_batching):
    server = start_batching(max_batch_size=3, batch_timeout_micros=FOREVER)
    one, two = send(server, look([2.0]), look([4.0, 6.0]))
    assert rows(one) == [3] and rows(two) == [3, 3]
    assert values(one) == [3.0] and values(two) == [4.0, 5.0]


def test_a_batch_runs_when_its_time_is_up(start_batching):
    server = start_batching(max_batch_size=100, batch_timeout_micros=1000)
    assert rows(send(server, look([2.0]))[0]) == [1]


def test_a_request_that_does_not_fit_closes_the_batch(start_batching):
    server = start_batching(max_batch_size=4, batch_timeout_micros=FOREVER)
    first, second = send(server, look([1.0] * 3), look([1.0] * 2), in_order=True)
    assert rows(first) == [3] * 3
    assert not second.done()
    third = send(server, look([1.0] * 2))[0]
    assert rows(second) == [4] * 2 and rows(third) == [4] * 2


def test_negative_sizes_are_no_limits(start_batching):
    server = start_batching(max_batch_size=-1, max_enqueued_batches=-1)
    assert rows(send(server, look(np.zeros(3000)))[0]) == [3000] * 3000


def test_too_many_rows_over_rest(start_batching):
    server = start_batching(max_batch_size=2)
    body = json.dumps({"signature_name": "look", "instances": [1.0, 2.0, 3.0]}).encode()
    status, _, body = server.http("POST", "/v1/models/look:predict", body)
    assert status == 400 and b"Task size 3 is larger than maximum input batch size 2" in body


def test_padding_to_allowed_sizes(start_batching):
    server = start_batching(max_batch_size=8, allowed_batch_sizes=[6, 2, 8])
    one, three, seven = send(server, look([2.0]), look([1.0, 2.0, 3.0]), look([1.0] * 7), in_order=True)
    assert rows(one) == [6] and rows(three) == [6] * 3 and rows(seven) == [8] * 7
    assert values(one, "sum") == [12.0], "filled with its first row"
    assert values(three, "sum") == [9.0] * 3
    assert values(three) == [2.5, 3.0, 3.5]


def test_padding_repeats_the_first_row_of_the_last_request(start_batching):
    server = start_batching(max_batch_size=8, batch_timeout_micros=600000, allowed_batch_sizes=[6, 8])
    first, second = send(server, look([1.0, 2.0]), look([10.0, 20.0]), in_order=True)
    assert values(first, "sum") == [53.0] * 2 and values(second, "sum") == [53.0] * 2


# ---- queues ----


def test_outputs_decide_on_the_queue(start_batching):
    server = start_batching(max_batch_size=2, batch_timeout_micros=600000)
    alone, one, two = send(
        server,
        look([1.0], ["rows"]),
        look([1.0], ["y", "rows"]),
        look([1.0], ["rows", "y"]),
    )
    assert rows(alone) == [1]
    assert rows(one) == [2] and rows(two) == [2], "the filter's order does not matter"


def test_a_full_queue_refuses(start_batching, gate):
    server = start_batching(max_batch_size=1, num_batch_threads=1, max_enqueued_batches=2)
    running = occupy(server)
    waiting, texts = await_refusals(send(server, *[held()] * 5), 3)
    assert texts == {
        "The batch scheduling queue to which this task was submitted is full; currently 2 batches "
        "enqueued and max_enqueued_batches is 2"
    }
    gate.open()
    assert [values(answer) for answer in [running, *waiting]] == [[2.0]] * 3


def test_a_full_queue_refuses_over_rest(start_batching, gate):
    server = start_batching(max_batch_size=1, num_batch_threads=1, max_enqueued_batches=0)
    running = occupy(server)
    waiting, _ = await_refusals(send(server, held(), held()), 1)  # 0 counts as 1
    body = json.dumps({"signature_name": "held", "instances": [0.0]}).encode()
    status, _, body = server.http("POST", "/v1/models/look:predict", body)
    assert status == 503 and b"max_enqueued_batches is 1" in body
    gate.open()
    assert [values(answer) for answer in [running, *waiting]] == [[2.0]] * 2


def test_a_client_that_leaves_at_its_deadline_was_too_late(start_batching):
    server = start_batching(max_batch_size=100, batch_timeout_micros=FOREVER)

    def is_counted():
        with refused("DEADLINE_EXCEEDED"):
            server.client.prediction.Predict(look([2.0]), timeout=0.1)
        return 'request_count{model_name="look",status="RESOURCE_EXHAUSTED"}' in metrics(server)

    wait_until(is_counted, lambda: metrics(server))


def test_requests_merge_while_all_threads_are_busy(start_batching, gate):
    server = start_batching(max_batch_size=4, num_batch_threads=1, max_enqueued_batches=1)
    running = occupy(server)
    waiting, _ = await_refusals(send(server, *[look([1.0])] * 5), 1)  # four fill the queue
    gate.open()
    assert [rows(answer) for answer in waiting] == [[4]] * 4
    assert values(running) == [2.0]


# ---- splitting ----


def test_large_requests_are_split(start_batching):
    server = start_batching(max_batch_size=8, enable_large_batch_splitting=True, max_execution_batch_size=3)
    answer = send(server, look(np.arange(8.0)))[0]
    assert rows(answer) == [3] * 6 + [2] * 2
    assert values(answer) == [i / 2 + 2 for i in range(8)]
    with refused("INVALID_ARGUMENT", "Task size 9 is larger than maximum input batch size 8"):
        server.client.predict(look(np.zeros(9)))


def test_requests_fill_batches_to_the_last_row(start_batching):
    server = start_batching(
        max_batch_size=8,
        batch_timeout_micros=600000,
        enable_large_batch_splitting=True,
        max_execution_batch_size=3,
    )
    first, second = send(server, look([2.0, 4.0]), look([6.0, 8.0]), in_order=True)
    assert rows(first) == [3, 3] and rows(second) == [3, 1]
    assert values(second) == [5.0, 6.0]


def test_parts_are_padded_too(start_batching):
    server = start_batching(
        max_batch_size=8,
        enable_large_batch_splitting=True,
        max_execution_batch_size=4,
        allowed_batch_sizes=[2, 8],
    )
    assert rows(send(server, look([1.0] * 3))[0]) == [8] * 3
    assert rows(send(server, look([1.0] * 6))[0]) == [8] * 4 + [2] * 2


def test_splitting_without_sizes_has_the_default_ones(start_batching):
    server = start_batching(enable_large_batch_splitting=True)
    assert rows(send(server, look([1.0] * 3))[0]) == [3] * 3


def test_a_part_that_fails_fails_the_request(start_batching):
    server = start_batching(max_batch_size=4, enable_large_batch_splitting=True, max_execution_batch_size=2)
    request = predict_request(
        "look", {"i": np.array([1, 2, 3, 99], np.int32)}, signature="pick"
    )
    with refused("INVALID_ARGUMENT"):
        server.client.predict(request)


# ---- what can be batched ----


def test_inputs_need_a_first_dimension_of_one_size(start_batching):
    server = start_batching()
    with refused("INVALID_ARGUMENT", "input tensors must have at least one dimension"):
        server.client.predict(look(1.0))
    request = predict_request(
        "look",
        {"a": np.zeros(1, np.float32), "b": np.zeros(2, np.float32)},
        signature="add",
    )
    with refused("INVALID_ARGUMENT", "input tensors must have equal 0th-dimension size"):
        server.client.predict(request)


def test_a_request_without_rows_waits_for_nobody(start_batching):
    server = start_batching(max_batch_size=4, batch_timeout_micros=FOREVER)
    assert values(send(server, look([]))[0]) == []


def test_a_wrong_dtype_harms_no_neighbour(start_batching):
    server = start_batching(max_batch_size=3, batch_timeout_micros=FOREVER)
    good, bad, fine = send(server, look([2.0]), look([1.0], dtype=np.int32), look([4.0]))
    assert values(good) == [3.0] and values(fine) == [4.0]
    assert bad.exception().code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "to be float but int32 is provided" in bad.exception().details()


def test_an_error_harms_no_neighbour(start_batching):
    server = start_batching(max_batch_size=3, batch_timeout_micros=FOREVER)
    pick = [
        predict_request("look", {"i": np.array([i], np.int32)}, signature="pick")
        for i in (3, 99, 4)
    ]
    good, bad, fine = send(server, *pick)
    assert values(good) == [3.0] and values(fine) == [4.0]
    assert bad.exception().code() == grpc.StatusCode.INVALID_ARGUMENT


def test_other_shapes_run_by_themselves(start_batching):
    server = start_batching(max_batch_size=2, batch_timeout_micros=FOREVER)
    narrow, wide = send(server, look([[2.0]]), look([[4.0, 6.0]]))
    assert values(narrow) == [[3.0]] and values(wide) == [[4.0, 5.0]]
    assert rows(narrow) == [1] and rows(wide) == [1]


def test_variable_lengths_are_padded(start_batching):
    server = start_batching(
        max_batch_size=2, batch_timeout_micros=FOREVER, pad_variable_length_inputs=True
    )
    narrow, wide = send(server, look([[2.0]]), look([[4.0, 6.0]]))
    assert rows(narrow) == [2] and rows(wide) == [2]
    assert values(narrow) == [[3.0, 3.0]], "with its first element, and not cut back"
    assert values(wide) == [[4.0, 5.0]]


def test_outputs_need_the_rows_of_the_inputs(start_batching):
    server = start_batching()
    request = predict_request("look", {"x": np.ones(2, np.float32)}, signature="total")
    with refused("FAILED_PRECONDITION", "Batched output tensor has 0 dimensions"):
        server.client.predict(request)


def test_all_methods_are_batched(start_batching):
    server = start_batching(max_batch_size=2, batch_timeout_micros=FOREVER)
    stub = server.client.prediction
    features = [{"x": 2.0}]
    for method, request in [
        (stub.Classify, classify_request("half", features, signature="classify_x_to_y")),
        (stub.Regress, regress_request("half", features, signature="regress_x_to_y")),
    ]:
        one, two = method.future(request, timeout=60), method.future(request, timeout=60)
        assert one.result().result == two.result().result


HALVES = (
    ("half", "regress_x_to_y", "tensorflow/serving/regress"),
    ("half", "classify_x_to_y", "tensorflow/serving/classify"),
)


def test_multi_inferences_run_together_and_each_client_gets_its_own_rows(start_batching):
    server = start_batching(max_batch_size=3, batch_timeout_micros=FOREVER)
    # Neither fills a batch: that both are answered says that they shared one.
    one, two = (
        server.client.prediction.MultiInference.future(
            multi_inference_request(*HALVES, features=features), timeout=60
        )
        for features in ([{"x": 2.0}], [{"x": 4.0}, {"x": 6.0}])
    )
    for answer, expected in [(one, [3.0]), (two, [4.0, 5.0])]:
        regressed, classified = answer.result().results
        assert regressed.model_spec.signature_name == "regress_x_to_y"
        assert [row.value for row in regressed.regression_result.regressions] == expected
        scores = [
            row.classes[0].score for row in classified.classification_result.classifications
        ]
        assert scores == expected


def test_a_bad_multi_inference_harms_no_neighbour(start_batching):
    server = start_batching(max_batch_size=2, batch_timeout_micros=FOREVER)
    good, bad = (
        server.client.prediction.MultiInference.future(
            multi_inference_request(*HALVES, features=features), timeout=60
        )
        for features in ([{"x": 2.0}], [{}])
    )
    assert good.result().results[0].regression_result.regressions[0].value == 3.0
    assert bad.exception().code() == grpc.StatusCode.INVALID_ARGUMENT


# ---- warm-up ----


def rows_run(server, bytes_in_a_row):
    """How many rows all runs had together, those of warm-up too."""
    name = ":tensorflow:core:graph_run_input_tensor_bytes_sum"
    total = re.search(rf"^{name}{{}} (\d+)$", metrics(server), re.MULTILINE)[1]
    return int(total) / bytes_in_a_row


def batches_counted(server):
    """{rows: how many batches of clients' requests had so many}."""
    name = ":tensorflow:serving:batching_session:padding_size_count"
    pattern = rf'^{name}{{execution_batch_size="(\d+)"}} (\d+)$'
    found = re.findall(pattern, metrics(server), re.MULTILINE)
    return {int(size): int(count) for size, count in found}


def test_requests_are_made_up_at_each_batch_size_in_use(start_batching):
    server = start_batching(
        max_batch_size=8, allowed_batch_sizes=[2, 5, 8], models=[Model("digits", DIGITS)]
    )
    assert rows_run(server, bytes_in_a_row=8 * 8 * 4) == 2 + 5 + 8
    assert batches_counted(server) == {}, "nobody has asked yet"


def test_a_new_version_is_asked_what_the_live_one_was_at_each_batch_size_in_use(
    start_batching, look_model, tmp_path
):
    folder = tmp_path / "look"
    shutil.copytree(look_model.base_path, folder)
    server = start_batching(
        max_batch_size=8, allowed_batch_sizes=[2, 8], models=[Model("look", folder)]
    )
    assert rows(send(server, look([2.0] * 5))[0]) == [8] * 5
    assert rows_run(server, 4) == 8, "of inputs of unknown rank nothing can be made up"
    shutil.copytree(folder / "1", tmp_path / "2")
    (tmp_path / "2").rename(folder / "2")
    wait_for_state(server.client, "look", 2, "AVAILABLE")
    # As it was asked, which is padded, then with as many rows as batches have.
    assert rows_run(server, 4) == 8 + (8 + 2 + 8)
    assert batches_counted(server) == {8: 1}, "of clients"


# ---- deadlines ----


def test_a_request_that_is_late_in_the_queue(start_batching):
    server = start_batching(
        "--rest_api_timeout_in_ms=200", max_batch_size=4, batch_timeout_micros=FOREVER
    )
    body = json.dumps({"signature_name": "look", "instances": [1.0]}).encode()
    status, _, body = server.http("POST", "/v1/models/look:predict", body)
    assert status == 429
    assert b"Run() timeout exceeded while waiting in batching queue" in body
    late = send(server, look([1.0]), timeout=0.2)[0]
    # Its own, nearly always: the server lets it have the first word.
    assert late.exception().code() in (
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
    )
    wait_until(lambda: queue_length(server) == 0, "those that were late stay in the queue")
    full = send(server, look([1.0] * 4))[0]
    assert rows(full) == [4] * 4, "those that were late are gone"


# ---- adaptive ----


def test_adaptive_runs_a_lone_request_at_once(start_batching):
    server = start_batching(
        "--batching_mode=adaptive",
        max_batch_size=4,
        batch_timeout_micros=FOREVER,
        allowed_batch_sizes=[4],
    )
    assert rows(send(server, look([1.0]))[0]) == [1], "neither waits nor is padded"
    total = predict_request("look", {"x": np.ones(9, np.float32)}, signature="total")
    assert values(send(server, total)[0], "total") == 9.0, "as without batching"


def test_adaptive_merges_what_waits_for_a_core(start_batching, gate):
    server = start_batching(
        "--batching_mode=adaptive", max_batch_size=4, num_batch_threads=1, max_enqueued_batches=1
    )
    running = occupy(server)
    waiting, _ = await_refusals(send(server, *[look([2.0])] * 5), 1)
    gate.open()
    assert [rows(answer) for answer in waiting] == [[4]] * 4
    assert [values(answer) for answer in [running, *waiting]] == [[2.0]] + [[3.0]] * 4


# ---- versions and the server come and go ----


def test_versions_change_under_load(start_batching, half_plus_two_copy):
    server = start_batching(
        models=[Model("half", half_plus_two_copy)], max_batch_size=8, batch_timeout_micros=2000
    )
    failures, answered, over = [], [], threading.Event()

    def ask(value):
        request = predict_request("half", {"x": np.array([value], np.float32)})
        while not over.is_set():
            try:
                reply = server.client.prediction.Predict(request, timeout=60)
                answered.append(array(reply.outputs["y"]).tolist() == [value / 2 + 2])
            except grpc.RpcError as error:
                failures.append(error)

    threads = [threading.Thread(target=ask, args=(float(i),)) for i in range(6)]
    for thread in threads:
        thread.start()
    source = half_plus_two_copy / "00000123"
    for version in range(124, 128):
        incoming = half_plus_two_copy / "incoming"
        shutil.copytree(source, incoming)
        incoming.rename(half_plus_two_copy / str(version))
        wait_for_state(server.client, "half", version, "AVAILABLE")
    over.set()
    for thread in threads:
        thread.join()
    assert not failures and answered and all(answered)


def test_a_version_that_goes_answers_those_who_wait(start_batching, half_plus_two_copy):
    server = start_batching(
        models=[Model("half", half_plus_two_copy)], max_batch_size=8, batch_timeout_micros=FOREVER
    )
    (waiting,) = send(server, predict_request("half", {"x": np.array([2.0], np.float32)}), in_order=True)
    incoming = half_plus_two_copy / "incoming"
    shutil.copytree(half_plus_two_copy / "00000123", incoming)
    incoming.rename(half_plus_two_copy / "124")
    assert values(waiting) == [3.0]
    assert waiting.result().model_spec.version.value == 123


def test_shutdown_answers_those_who_wait(start_batching):
    server = start_batching(max_batch_size=4, batch_timeout_micros=FOREVER)
    waiting = send(server, look([2.0]), look([4.0]), in_order=True)
    assert server.stop() == 0
    assert values(waiting[0]) == [3.0] and values(waiting[1]) == [4.0]
