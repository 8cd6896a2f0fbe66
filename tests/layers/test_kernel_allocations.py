"""Kernels take memory from their context, or from an allocator that they are given: the device that
runs a kernel decides where its memory lies."""

import pathlib
import re

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "runtime" / "kernels"
# What runs kernels in tests, and what tests compare them with.
NOT_KERNELS = re.compile(
    r"_(test|benchmark)\.cc$|/(both_devices|kernel_runner|reference_product)\.(cc|h)$"
)
CALL = re.compile(r"\b(?:Tensor::(?:Allocate|Zeros)|HeapAllocator)\(|(?:\.|->)DeepCopy\(")


def arguments(text, begin):
    """What stands between the parenthesis before `begin` and its counterpart."""
    depth, end = 1, begin
    while depth > 0:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return text[begin : end - 1]


def own_allocations(text):
    """The calls that name no allocator, or the heap itself."""
    calls = [(m.group(), arguments(text, m.end())) for m in CALL.finditer(text)]
    return [
        f"{call}{args})"
        for call, args in calls
        if call == "HeapAllocator(" or "llocator" not in args
    ]


def test_calls_without_an_allocator_are_seen():
    assert own_allocations("Tensor::Zeros(x.dtype(), Shape{n});") == [
        "Tensor::Zeros(x.dtype(), Shape{n})"
    ]
    assert own_allocations("a = b->DeepCopy(); c(HeapAllocator());") == [
        "->DeepCopy()",
        "HeapAllocator()",
    ]
    assert own_allocations("Tensor::Allocate(dtype, f(shape), allocator)") == []


def test_kernels_call_no_allocator_by_themselves():
    found = {
        str(path.relative_to(KERNELS)): calls
        for path in sorted(KERNELS.rglob("*"))
        if path.suffix in (".cc", ".h") and not NOT_KERNELS.search(str(path))
        for calls in [own_allocations(path.read_text())]
        if calls
    }
    assert found == {}
