"""Builds messages in which every field has a value.

Values differ from field to field, so that two fields that change places are noticed. Several
variants of a message go through the members of its oneofs, and through ordinary and extreme values.
"""

import math

from google.protobuf import message_factory
from google.protobuf.descriptor import FieldDescriptor

# A message type may stand inside itself, directly or not, this many times.
_MAX_RECURSION = 2
_MAX_DEPTH = 6
# Submessages of one message; beyond that the repeated ones hold one element, at the end none.
_BUDGET = 400

_FLOATS = (1.5, -0.0, math.inf, -math.inf, 2.0**-149, -(2.0**127))
_DOUBLES = (0.1, -0.0, math.inf, -math.inf, 5e-324, -1.7976931348623157e308)
_RANGES = {
    FieldDescriptor.TYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_SINT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_SFIXED32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_UINT32: (2**31, 2**32 - 1),
    FieldDescriptor.TYPE_FIXED32: (2**31, 2**32 - 1),
    FieldDescriptor.TYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_SINT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_SFIXED64: (-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_UINT64: (2**63, 2**64 - 1),
    FieldDescriptor.TYPE_FIXED64: (2**63, 2**64 - 1),
}


class _Filler:
    def __init__(self, variant):
        self._variant = variant
        self._count = 0
        self._messages = 0

    def _scalar(self, field):
        self._count += 1
        count = self._count
        extreme = self._variant % 2 == 1
        if field.type == FieldDescriptor.TYPE_BOOL:
            return True
        if field.type == FieldDescriptor.TYPE_STRING:
            return f"{field.name} {count} \u00e9\u4e16\U0001f600" if extreme else f"s{count}"
        if field.type == FieldDescriptor.TYPE_BYTES:
            return bytes([count % 256, 0, 255, 128]) if extreme else b"b%d" % count
        if field.type == FieldDescriptor.TYPE_FLOAT:
            return _FLOATS[count % len(_FLOATS)] if extreme else count + 0.25
        if field.type == FieldDescriptor.TYPE_DOUBLE:
            return _DOUBLES[count % len(_DOUBLES)] if extreme else count + 0.1
        if field.type == FieldDescriptor.TYPE_ENUM:
            if extreme and not field.enum_type.is_closed:
                return 100000 + count  # a value that a later version may name
            values = [value.number for value in field.enum_type.values]
            return values[count % len(values)]
        return _RANGES[field.type][count % 2] if extreme else count

    def _repetitions(self):
        if self._messages > _BUDGET:
            return 0
        return 2 if self._messages < _BUDGET / 4 else 1

    def _map(self, message, field, path):
        target = getattr(message, field.name)
        value = field.message_type.fields_by_name["value"]
        for _ in range(max(1, self._repetitions())):
            key = self._scalar(field.message_type.fields_by_name["key"])
            if value.message_type is None:
                target[key] = self._scalar(value)
            else:
                self._fill(target[key], path)

    def _field(self, message, field, path):
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            self._map(message, field, path)
        elif field.message_type is not None:
            if path.count(field.message_type.full_name) >= _MAX_RECURSION:
                return
            if field.is_repeated:
                for _ in range(self._repetitions()):
                    self._fill(getattr(message, field.name).add(), path)
            elif self._messages <= 2 * _BUDGET:
                submessage = getattr(message, field.name)
                submessage.SetInParent()
                self._fill(submessage, path)
        elif field.is_repeated:
            getattr(message, field.name).extend(self._scalar(field) for _ in range(3))
        else:
            setattr(message, field.name, self._scalar(field))

    def _fill(self, message, path):
        descriptor = message.DESCRIPTOR
        if len(path) >= _MAX_DEPTH:
            return
        self._messages += 1
        path = path + [descriptor.full_name]
        if descriptor.full_name == "google.protobuf.Any":
            message.type_url = "type.googleapis.com/tensorflow.VersionDef"
            message.value = b"\x08\x07"
            return
        chosen = {
            oneof.fields[(self._variant + len(path) - 1) % len(oneof.fields)].name
            for oneof in descriptor.oneofs
        }
        for field in descriptor.fields:
            if field.containing_oneof is None or field.name in chosen:
                self._field(message, field, path)

    def fill(self, message):
        self._fill(message, [])
        return message


def _oneof_sizes(descriptor, seen):
    """Sizes of the oneofs of a message type and of the types below it."""
    if descriptor.full_name in seen:
        return
    seen.add(descriptor.full_name)
    for oneof in descriptor.oneofs:
        yield len(oneof.fields)
    for field in descriptor.fields:
        if field.message_type is not None:
            yield from _oneof_sizes(field.message_type, seen)


def variants(descriptor):
    """How many variants show every member of every oneof, with ordinary and with extreme values."""
    return 2 * max(_oneof_sizes(descriptor, set()), default=1)


def filled(descriptor, variant):
    """A message of the type `descriptor` with every field set; of a oneof, one by `variant`."""
    return _Filler(variant).fill(message_factory.GetMessageClass(descriptor)())
