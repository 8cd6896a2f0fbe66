"""Kernels take memory from their context, or from an allocator that they are given: the device that
runs a kernel decides where its memory lies.

Outputs, state and scratch memory that holds as many elements as a tensor are tensors. Bookkeeping of
the host, such as the indices of rows, may be in containers; an output is allocated before it takes
their elements (runtime/kernels/vector_output.h, scalar_output.h, host_values.h). Strings, handles and
variants are objects, which a Tensor makes without an allocator: a call that makes one from values
names the type of its elements. Packed weights of the CPU come from WeightsAllocator(), which only
the CPU's primitives name.
"""

import pathlib
import re

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "runtime" / "kernels"
PRIMITIVES = re.compile(r"^primitives/(cpu|cuda)/")
# What runs kernels in tests, and what tests compare them with.
NOT_KERNELS = re.compile(r"_(test|benchmark)\.cc$|/testing/")
CALL = re.compile(r"\b(?:Tensor::(?:Allocate|Zeros)|TensorFromProto|HeapAllocator)\(|(?:\.|->)DeepCopy\(")
HEAP = re.compile(r"\bmake_unique<[^>;]*\[\]>\(|\bnew [\w:]+\[|\b(?:m|c|re)alloc\(")
# A vector of numbers with an element for each one of a tensor. Positions are int64_t.
ELEMENTS = re.compile(
    r"std::vector<(?:float|double|char|u?int(?:8|16|32)_t|T|Sum|SumOf<T>)>"
    r" \w+\([^;]*\bnum_elements\(\)"
)
# A tensor of values whose memory comes from the heap, unless they are objects.
OF_VALUES = re.compile(
    r"(?<!\w)Tensor::(?:Scalar|Vector|Of)\b(?!<(?:std::string|ResourceHandle|Variant)>)"
)
# What kernels get their allocators from when there is no device.
WITHOUT_DEVICE = "device == nullptr ? HeapAllocator() : device->allocator(MemoryKind::kHost)"


def arguments(text, begin):
    """What stands between the parenthesis before `begin` and its counterpart."""
    depth, end = 1, begin
    while depth > 0:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return text[begin : end - 1]


def own_allocations(text, is_primitive=False):
    """The calls that name no allocator, or the heap itself, and the scratch memory from the heap."""
    text = text.replace(WITHOUT_DEVICE, "")
    calls = [(m.group(), arguments(text, m.end())) for m in CALL.finditer(text)]
    found = [
        f"{call}{args})"
        for call, args in calls
        if call == "HeapAllocator(" or "llocator" not in args
    ]
    found += HEAP.findall(text)
    found += ELEMENTS.findall(text)
    found += OF_VALUES.findall(text)
    if not is_primitive:
        found += re.findall(r"\bWeightsAllocator\(\)", text)
    return found


def test_calls_without_an_allocator_are_seen():
    assert own_allocations("Tensor::Zeros(x.dtype(), Shape{n});") == [
        "Tensor::Zeros(x.dtype(), Shape{n})"
    ]
    assert own_allocations("a = b->DeepCopy(); c(HeapAllocator());") == [
        "->DeepCopy()",
        "HeapAllocator()",
    ]
    assert own_allocations("Tensor::Allocate(dtype, f(shape), allocator)") == []


def test_scratch_memory_from_the_heap_is_seen():
    assert own_allocations("std::vector<float> sums(output->num_elements(), 0.0f);") == [
        "std::vector<float> sums(output->num_elements()"
    ]
    assert own_allocations("std::vector<int64_t> rows(values.num_elements());") == []
    assert own_allocations("a = std::make_unique<char[]>(n); b = new float[n]; c = malloc(n);") == [
        "make_unique<char[]>(",
        "new float[",
        "malloc(",
    ]


def test_tensors_of_values_from_the_heap_are_seen():
    assert own_allocations("ctx.set_output(1,\n    Tensor::Vector<int64_t>(rows));") == [
        "Tensor::Vector"
    ]
    assert own_allocations("ctx.set_output(0, Tensor::Scalar(size)); Tensor::Of(shape, x);") == [
        "Tensor::Scalar",
        "Tensor::Of",
    ]
    assert own_allocations("Tensor::Scalar<Variant>(v); Tensor::Vector<std::string>({s});") == []
    assert own_allocations("SparseTensor::Of(x); ScalarIn(allocator, 1);") == []


def test_the_heap_stands_in_for_a_missing_device_alone():
    assert own_allocations(f"return {WITHOUT_DEVICE};") == []
    assert own_allocations("return ok ? HeapAllocator() : device->allocator(kind);") == [
        "HeapAllocator()"
    ]


def test_only_primitives_name_the_allocator_of_weights():
    call = "Tensor::Allocate(DType::kInt8, {size}, WeightsAllocator())"
    assert own_allocations(call, is_primitive=True) == []
    assert own_allocations(call) == ["WeightsAllocator()"]


def test_kernels_call_no_allocator_by_themselves():
    found = {}
    for path in sorted(KERNELS.rglob("*")):
        name = path.relative_to(KERNELS).as_posix()
        if path.suffix not in (".cc", ".h") or NOT_KERNELS.search(str(path)):
            continue
        calls = own_allocations(path.read_text(), PRIMITIVES.match(name) is not None)
        if calls:
            found[name] = calls
    assert found == {}
