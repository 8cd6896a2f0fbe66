"""GraphDefs that go to and come from the processes that run random cases.

A message is a GraphDef behind its length in four bytes, the lowest first. Cases and answers are
described in random_graph.h and random_cases.cc.
"""

import dataclasses
import os
import select
import struct
import subprocess
import time

from tensorflow.core.framework import graph_pb2

# What stands in place of outputs of more bytes than this: random_cases.cc has the same limit.
MOST_BYTES = 1 << 24
TOO_LARGE = "too large to compare"


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
                raise Crashed(f"crashed with signal {-code}" if code < 0 else f"ended with {code}")
            data += part
            if wanted == 4 and len(data) == 4:
                wanted += struct.unpack("<I", data)[0]
        return graph_pb2.GraphDef.FromString(bytes(data[4:]))

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
