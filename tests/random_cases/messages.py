"""GraphDefs that go to and come from the processes that run random cases.

A message is a GraphDef behind its length in four bytes, the lowest first. Cases and answers are
described in random_graph.h and random_cases.cc.
"""

import contextlib
import ctypes
import dataclasses
import os
import select
import signal
import struct
import subprocess
import time

from tensorflow.core.framework import graph_pb2

# What stands in place of outputs of more bytes than this: random_cases.cc has the same limit.
MOST_BYTES = 1 << 24
TOO_LARGE = "too large to compare"

# Of <linux/prctl.h>.
_PR_SET_PDEATHSIG = 1


def write(stream, message):
    data = message.SerializeToString()
    stream.write(struct.pack("<I", len(data)) + data)
    stream.flush()


def read(stream):
    """The next message; None at the end of the stream."""
    header = stream.read(4)
    if len(header) < 4:
        return None
    return graph_pb2.GraphDef.FromString(stream.read(struct.unpack("<I", header)[0]))


class Crashed(Exception):
    """The process ended. The text says how."""


class TimedOut(Crashed):
    """The process did not answer in time."""


# The only node of an answer that says that a child of the worker ended instead of answering.
_CRASHED = "crashed"


class Server:
    """Answers each request of a stream in a forked process, and forks another one after a crash: what
    takes long to load is loaded once. Needs a process without threads."""

    def __init__(self, answer):
        self._answer = answer
        self._child = None
        self._to_child = self._from_child = None

    def serve(self, requests, answers):
        while (request := read(requests)) is not None:
            if self._child is None:
                self._fork()
            try:
                write(self._to_child, request)
                answer = read(self._from_child)
            except BrokenPipeError:
                answer = None
            write(answers, self._crashed() if answer is None else answer)

    def _fork(self):
        requests, to_child = os.pipe()
        from_child, answers = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(to_child)
            os.close(from_child)
            # The child ends with the process that forked it.
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            with os.fdopen(requests, "rb") as source, os.fdopen(answers, "wb") as sink:
                while (request := read(source)) is not None:
                    write(sink, self._answer(request))
            os._exit(0)
        os.close(requests)
        os.close(answers)
        self._to_child, self._from_child = os.fdopen(to_child, "wb"), os.fdopen(from_child, "rb")

    def _crashed(self):
        _, status = os.waitpid(self._child, 0)
        for stream in (self._to_child, self._from_child):
            with contextlib.suppress(BrokenPipeError):  # a request that was not read
                stream.close()
        self._child = None
        message = graph_pb2.GraphDef()
        message.node.add(name=_CRASHED).attr["_message"].s = _ended(
            os.waitstatus_to_exitcode(status)).encode()
        return message


def _ended(code):
    return f"crashed with signal {-code}" if code < 0 else f"ended with {code}"


class Worker:
    """A process that answers each request with a message, and is started again after a crash."""

    def __init__(self, command, environment=None, timeout=60):
        self._command = [str(part) for part in command]
        self._environment = {**os.environ, **(environment or {})}
        self._timeout = timeout
        self._process = None

    def send(self, request):
        """Sends a GraphDef, or a line of text."""
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._environment,
            )
        try:
            if isinstance(request, str):
                self._process.stdin.write(request.encode() + b"\n")
                self._process.stdin.flush()
            else:
                write(self._process.stdin, request)
        except BrokenPipeError:
            pass  # receive() sees the end of the process

    def receive(self):
        """The answer to the oldest request without one. Raises Crashed."""
        deadline = time.monotonic() + self._timeout
        data = bytearray()
        wanted = 4
        while len(data) < wanted:
            left = deadline - time.monotonic()
            if left < 0 or not select.select([self._process.stdout], [], [], left)[0]:
                self.close()
                raise TimedOut(f"no answer within {self._timeout} seconds")
            part = os.read(self._process.stdout.fileno(), wanted - len(data))
            if not part:
                code = self._process.wait()
                self.close()
                raise Crashed(_ended(code))
            data += part
            if wanted == 4 and len(data) == 4:
                wanted += struct.unpack("<I", data)[0]
        answer = graph_pb2.GraphDef.FromString(bytes(data[4:]))
        if answer.node and answer.node[0].name == _CRASHED:
            raise Crashed(answer.node[0].attr["_message"].s.decode())
        return answer

    def ask(self, request):
        self.send(request)
        return self.receive()

    def close(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@dataclasses.dataclass
class Result:
    """What a case gave in one of the ways it was run: tensors, or an error."""

    tensors: list
    error: str = ""
    message: str = ""


def result_of(answer, way):
    result = Result([])
    for node in answer.node:
        if node.name == way:
            result.error = node.attr["_error"].s.decode()
            result.message = node.attr["_message"].s.decode(errors="replace")
        elif node.name.startswith(way + "/"):
            result.tensors.append(node.attr["value"].tensor)
    return result
