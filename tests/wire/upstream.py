"""The protos that the packages of PyPI hold: TensorFlow's, its serving client's and gRPC's.

Most come as Python modules. Those that TensorFlow ships in its shared library alone (requests
between the tasks of a cluster, the profiler) are cut out of it.
"""

import functools
import importlib
import mmap
import pathlib
import sys

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message import DecodeError

from conformance import protos  # pylint: disable=unused-import # makes `tensorflow` importable

# Where TensorFlow keeps the modules of a folder of import paths.
_MODULE_FOLDERS = {"xla/": "tensorflow.compiler.xla.", "tsl/": "tensorflow.tsl."}

# Field number to wire type, of a FileDescriptorProto.
_FILE_DESCRIPTOR_FIELDS = {1: 2, 2: 2, 3: 2, 4: 2, 5: 2, 6: 2, 7: 2, 8: 2, 9: 2, 10: 0, 11: 0, 12: 2}


def _module_name(path):
    module = path.removesuffix(".proto") + "_pb2"
    for folder, package in _MODULE_FOLDERS.items():
        if module.startswith(folder):
            return package + module.removeprefix(folder).replace("/", ".")
    return module.replace("/", ".")


def _from_module(path):
    """The descriptor that the Python module of `path` registers, or None where there is none."""
    try:
        importlib.import_module(_module_name(path))
    except ModuleNotFoundError:
        return None
    found = descriptor_pb2.FileDescriptorProto()
    descriptor_pool.Default().FindFileByName(path).CopyToProto(found)
    return found


def _read_varint(data, position):
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, position


def _length_of_descriptor(data, start):
    """How far the bytes from `start` on read as fields of one FileDescriptorProto."""
    position = end = start
    names = 0
    while True:
        tag, position = _read_varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        names += number == 1
        if _FILE_DESCRIPTOR_FIELDS.get(number) != wire_type or names > 1:
            return end - start
        size, position = _read_varint(data, position)
        position += size if wire_type == 2 else 0
        if position > len(data):
            return end - start
        end = position


def _from_library(path):
    """The descriptor of `path` inside TensorFlow's shared library, or None."""
    library = pathlib.Path(sys.modules["tensorflow"].__path__[0]) / "libtensorflow_cc.so.2"
    if not library.is_file():
        return None
    beginning = b"\x0a" + bytes([len(path)]) + path.encode()
    with open(library, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = data.find(beginning)
        while start >= 0:
            found = descriptor_pb2.FileDescriptorProto()
            try:
                found.ParseFromString(data[start : start + _length_of_descriptor(data, start)])
            except DecodeError:
                pass
            if found.package:  # not a mere mention of the name
                return found
            start = data.find(beginning, start + 1)
    return None


@functools.cache
def file_descriptor(path):
    """The upstream FileDescriptorProto with import path `path`, or None if no package has it."""
    return _from_module(path) or _from_library(path)


@functools.cache
def pool():
    """A pool of its own, for files of both origins; filled by add()."""
    return descriptor_pool.DescriptorPool()


@functools.cache
def add(path):
    """Adds `path` and what it imports to pool(). Returns its FileDescriptor."""
    proto = file_descriptor(path)
    if proto is None:
        raise LookupError(f"no package has {path}")
    for imported in proto.dependency:
        add(imported)
    pool().Add(proto)
    return pool().FindFileByName(path)
