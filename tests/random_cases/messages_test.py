"""A process that runs cases may crash or hang: the next case finds a new one."""

import sys

import pytest
import tensorflow  # pylint: disable=unused-import; before conformance.protos

from random_cases import messages
from tensorflow.core.framework import graph_pb2

# Answers with what it reads, but for nodes called "crash" and "hang".
_ECHO = """
import os, sys, time
from random_cases import messages
while (case := messages.read(sys.stdin.buffer)) is not None:
    if case.node[0].name == "crash":
        os.abort()
    if case.node[0].name == "hang":
        time.sleep(100)
    messages.write(sys.stdout.buffer, case)
"""


# The same in forked processes, of which each counts its answers.
_FORKED_ECHO = """
import os, sys
from random_cases import messages
answered = 0
def answer(case):
    global answered
    if case.node[0].name == "crash":
        os.abort()
    answered += 1
    case.node.add(name=str(answered))
    return case
messages.Server(answer).serve(sys.stdin.buffer, sys.stdout.buffer)
"""


def case(name):
    graph = graph_pb2.GraphDef()
    graph.node.add(name=name, op="NoOp")
    return graph


@pytest.fixture(name="worker")
def worker_of_echoes():
    paths = {"PYTHONPATH": ":".join(sys.path)}
    worker = messages.Worker([sys.executable, "-c", _ECHO], paths, timeout=60)
    yield worker
    worker.close()


def test_a_crash_is_reported_and_the_next_case_runs(worker):
    assert worker.ask(case("a")) == case("a")
    with pytest.raises(messages.Crashed, match="signal 6"):
        worker.ask(case("crash"))
    assert worker.ask(case("b")) == case("b")


def test_a_server_forks_another_process_after_a_crash():
    worker = messages.Worker([sys.executable, "-c", _FORKED_ECHO],
                             {"PYTHONPATH": ":".join(sys.path)}, timeout=60)
    assert [worker.ask(case("a")).node[1].name for _ in range(2)] == ["1", "2"]
    process = worker._process  # pylint: disable=protected-access
    with pytest.raises(messages.Crashed, match="signal 6"):
        worker.ask(case("crash"))
    assert worker.ask(case("b")).node[1].name == "1"
    assert worker._process is process  # pylint: disable=protected-access
    worker.close()


def test_a_hang_ends_at_the_timeout(worker):
    assert worker.ask(case("a")) == case("a")
    worker._timeout = 0.2  # pylint: disable=protected-access
    with pytest.raises(messages.Crashed, match="no answer within"):
        worker.ask(case("hang"))


def test_results_are_read_by_the_way_they_were_run():
    answer = graph_pb2.GraphDef()
    failed = answer.node.add(name="optimized", op="Const")
    failed.attr["_error"].s = b"OUT_OF_RANGE"
    value = answer.node.add(name="dataflow/0", op="Const")
    value.attr["value"].tensor.dtype = 1
    assert messages.result_of(answer, "optimized").error == "OUT_OF_RANGE"
    assert [tensor.dtype for tensor in messages.result_of(answer, "dataflow").tensors] == [1]
