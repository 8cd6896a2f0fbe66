"""The comparison of a server's answers with recorded ones, over gRPC and over REST.

Every function returns None, or the first difference in words: where, the value, the expected value.
"""

import json
import math

from conformance import tensors


def predict_difference(got, want, tolerance):
    """PredictResponse: the model_spec, the set of outputs, and each output's values.

    How a tensor is written (typed values or tensor_content) is free; recordings hold either.
    """
    difference = _spec_difference(got.model_spec, want.model_spec)
    if difference:
        return difference
    if set(got.outputs) != set(want.outputs):
        return f"outputs are {sorted(got.outputs)}, expected {sorted(want.outputs)}"
    for name in sorted(want.outputs):
        difference = tensors.first_difference(got.outputs[name], want.outputs[name], tolerance)
        if difference:
            return f"output '{name}': {difference}"
    return None


def classify_difference(got, want, tolerance):
    """ClassificationResponse: the labels exactly, the scores at the tolerance."""
    difference = _spec_difference(got.model_spec, want.model_spec)
    if difference:
        return difference
    got_rows, want_rows = got.result.classifications, want.result.classifications
    if len(got_rows) != len(want_rows):
        return f"{len(got_rows)} classifications, expected {len(want_rows)}"
    for row, (got_row, want_row) in enumerate(zip(got_rows, want_rows)):
        if len(got_row.classes) != len(want_row.classes):
            return (
                f"example {row}: {len(got_row.classes)} classes, expected {len(want_row.classes)}"
            )
        for column, (one, other) in enumerate(zip(got_row.classes, want_row.classes)):
            where = f"example {row}, class {column}"
            if one.label != other.label:
                return f"{where}: label is {one.label!r}, expected {other.label!r}"
            if not _close(one.score, other.score, tolerance):
                return f"{where}: score is {one.score:.9g}, expected {other.score:.9g}"
    return None


def regress_difference(got, want, tolerance):
    """RegressionResponse: the values at the tolerance."""
    difference = _spec_difference(got.model_spec, want.model_spec)
    if difference:
        return difference
    got_rows, want_rows = got.result.regressions, want.result.regressions
    if len(got_rows) != len(want_rows):
        return f"{len(got_rows)} regressions, expected {len(want_rows)}"
    for row, (one, other) in enumerate(zip(got_rows, want_rows)):
        if not _close(one.value, other.value, tolerance):
            return f"example {row}: value is {one.value:.9g}, expected {other.value:.9g}"
    return None


def rest_difference(got_body, want_body, tolerance):
    """Two JSON texts: floats at the tolerance, integers within int_atol, all else equal.

    1 and 1.0 differ: the text tells a client the type. NaN and Infinity may stand bare, as the
    server writes them.
    """
    try:
        got = json.loads(got_body)
    except ValueError as error:
        return f"the body is not JSON ({error}): {got_body[:200]!r}"
    return json_difference(got, json.loads(want_body), tolerance)


def json_difference(got, want, tolerance, path="$"):
    """The same for parsed values; `path` says where they stand."""
    if type(got) is not type(want):  # bool is no int here, int no float
        return f"{path} is {_brief(got)}, expected {_brief(want)}"
    if isinstance(want, dict):
        if got.keys() != want.keys():
            return f"{path} has the keys {sorted(got)}, expected {sorted(want)}"
        inner = ((got[key], want[key], f"{path}.{key}") for key in want)
    elif isinstance(want, list):
        if len(got) != len(want):
            return f"{path} has {len(got)} elements, expected {len(want)}"
        inner = ((*pair, f"{path}[{i}]") for i, pair in enumerate(zip(got, want)))
    elif isinstance(want, float):
        return None if _close(got, want, tolerance) else f"{path} is {got!r}, expected {want!r}"
    elif isinstance(want, int) and not isinstance(want, bool):
        close = abs(got - want) <= tolerance.int_atol
        return None if close else f"{path} is {got}, expected {want}"
    else:
        return None if got == want else f"{path} is {_brief(got)}, expected {_brief(want)}"
    differences = (json_difference(one, other, tolerance, where) for one, other, where in inner)
    return next((difference for difference in differences if difference), None)


def _spec_difference(got, want):
    for field in ("name", "signature_name"):
        if getattr(got, field) != getattr(want, field):
            return (
                f"model_spec.{field} is {getattr(got, field)!r}, "
                f"expected {getattr(want, field)!r}"
            )
    if got.version.value != want.version.value:
        return f"model_spec.version is {got.version.value}, expected {want.version.value}"
    return None


def _close(got, want, tolerance):
    if math.isfinite(got) and math.isfinite(want):
        return abs(got - want) <= tolerance.atol + tolerance.rtol * abs(want)
    return got == want or (math.isnan(got) and math.isnan(want))


def _brief(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
