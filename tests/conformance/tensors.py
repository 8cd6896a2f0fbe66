"""TensorProto to numpy, and the comparison of two tensors at a model's tolerance."""

import dataclasses

import ml_dtypes
import numpy as np

from conformance.protos import types_pb2

# DataType -> (numpy type, the typed field that holds its values). Half and bfloat16 travel as bits.
_TYPES = {
    types_pb2.DT_FLOAT: (np.float32, "float_val"),
    types_pb2.DT_DOUBLE: (np.float64, "double_val"),
    types_pb2.DT_HALF: (np.float16, "half_val"),
    types_pb2.DT_BFLOAT16: (ml_dtypes.bfloat16, "half_val"),
    types_pb2.DT_INT8: (np.int8, "int_val"),
    types_pb2.DT_INT16: (np.int16, "int_val"),
    types_pb2.DT_INT32: (np.int32, "int_val"),
    types_pb2.DT_INT64: (np.int64, "int64_val"),
    types_pb2.DT_UINT8: (np.uint8, "int_val"),
    types_pb2.DT_UINT16: (np.uint16, "int_val"),
    types_pb2.DT_UINT32: (np.uint32, "uint32_val"),
    types_pb2.DT_UINT64: (np.uint64, "uint64_val"),
    types_pb2.DT_QINT8: (np.int8, "int_val"),
    types_pb2.DT_QUINT8: (np.uint8, "int_val"),
    types_pb2.DT_QINT16: (np.int16, "int_val"),
    types_pb2.DT_QUINT16: (np.uint16, "int_val"),
    types_pb2.DT_QINT32: (np.int32, "int_val"),
    types_pb2.DT_BOOL: (np.bool_, "bool_val"),
    types_pb2.DT_COMPLEX64: (np.complex64, "scomplex_val"),
    types_pb2.DT_COMPLEX128: (np.complex128, "dcomplex_val"),
    types_pb2.DT_STRING: (object, "string_val"),
}


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """|got - want| <= atol + rtol * |want| for floats; integers within int_atol; the rest exact."""

    rtol: float = 0.0
    atol: float = 0.0
    int_atol: int = 0

    @staticmethod
    def of_manifest(entry):
        return Tolerance(entry["rtol"], entry["atol"], entry.get("int_atol", 0))


def dtype_name(dtype):
    return types_pb2.DataType.Name(dtype) if dtype in types_pb2.DataType.values() else str(dtype)


def decode(proto):
    """The values as a numpy array (bytes objects for strings).

    Raises ValueError where the message is no legal tensor: the number of bytes in tensor_content
    differs from what the shape needs, or typed values are more than that. Fewer typed values are
    legal: the last one repeats, and none at all stand for zeros.
    """
    if proto.dtype not in _TYPES:
        raise ValueError(f"dtype {dtype_name(proto.dtype)} cannot be compared")
    numpy_type, field = _TYPES[proto.dtype]
    shape = tuple(dim.size for dim in proto.tensor_shape.dim)
    count = int(np.prod(shape, dtype=np.int64))
    if proto.tensor_content:
        if numpy_type is object:
            raise ValueError("strings in tensor_content")
        needed = count * np.dtype(numpy_type).itemsize
        if len(proto.tensor_content) != needed:
            raise ValueError(f"tensor_content has {len(proto.tensor_content)} bytes, not {needed}")
        return np.frombuffer(proto.tensor_content, numpy_type).reshape(shape)
    values = list(getattr(proto, field))
    if proto.dtype in (types_pb2.DT_COMPLEX64, types_pb2.DT_COMPLEX128):
        values = [complex(*pair) for pair in zip(values[::2], values[1::2])]
    if len(values) > count:
        raise ValueError(f"{len(values)} values for {count} elements")
    if not values:
        values = [b"" if numpy_type is object else 0]
    values += [values[-1]] * (count - len(values))
    if field == "half_val":
        return np.array(values[:count], np.uint16).view(numpy_type).reshape(shape)
    return np.array(values[:count], numpy_type).reshape(shape)


def matches(got, want, tolerance):
    """Element by element: a boolean array. Both arrays have one shape and one type."""
    kind = _kind(want)
    if kind == "exact":
        return np.asarray(got == want, np.bool_)
    if kind == "integer":
        difference = np.maximum(got, want).astype(object) - np.minimum(got, want).astype(object)
        return np.asarray(difference <= tolerance.int_atol, np.bool_)
    wide = np.complex128 if kind == "complex" else np.float64
    got, want = got.astype(wide), want.astype(wide)
    with np.errstate(invalid="ignore"):
        close = np.abs(got - want) <= tolerance.atol + tolerance.rtol * np.abs(want)
    both_nan = np.isnan(got) & np.isnan(want)
    finite = np.isfinite(got) & np.isfinite(want)
    return np.where(finite, close, both_nan | (got == want))


def first_difference(got_proto, want_proto, tolerance):
    """What differs first, with the index and both values; None where nothing does."""
    if got_proto.dtype != want_proto.dtype:
        return f"dtype is {dtype_name(got_proto.dtype)}, expected {dtype_name(want_proto.dtype)}"
    try:
        got = decode(got_proto)
    except ValueError as error:
        return f"not a legal tensor: {error}"
    want = decode(want_proto)
    if got.shape != want.shape:
        return f"shape is {list(got.shape)}, expected {list(want.shape)}"
    good = matches(got, want, tolerance)
    if good.all():
        return None
    indexes = np.argwhere(~good)
    first = tuple(int(i) for i in indexes[0])
    reason = f"{list(first)} is {_show(got[first])}, expected {_show(want[first])}"
    if _kind(want) == "float":
        wide_got, wide_want = float(got[first]), float(want[first])
        limit = tolerance.atol + tolerance.rtol * abs(wide_want)
        reason += f" (differs by {abs(wide_got - wide_want):.3g}, allowed {limit:.3g})"
    return f"{reason}; {len(indexes)} of {want.size} elements differ"


def _kind(array):
    if array.dtype == np.bool_ or array.dtype == object:
        return "exact"
    if np.issubdtype(array.dtype, np.integer):
        return "integer"
    return "complex" if np.issubdtype(array.dtype, np.complexfloating) else "float"


def _show(value):
    if isinstance(value, bytes):
        return repr(value if len(value) <= 80 else value[:77] + b"...")
    return f"{float(value):.9g}" if np.asarray(value).dtype.kind in "fV" else str(value)
