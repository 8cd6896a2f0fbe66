"""A model may be skipped only for ops that are known to have no kernel."""

import pytest

from conformance import missing_kernels

SENTENCE = (
    "UNIMPLEMENTED: cannot load /m/1: {} no kernel: {}; custom ops load with --op_library=FILE.so. "
    "Run `tessera inspect --ops /m/1` for the list"
)
ONE = SENTENCE.format("1 op has", "MapDataset (node 'a/MapDataset')")
TWO = SENTENCE.format(
    "2 ops have", "RangeDataset (nodes 'a', 'b (nodes)' and 3 more), MapDataset (node 'f/c')"
)
OTHER = SENTENCE.format("2 ops have", "MapDataset (node 'a'), MatMul (node 'b')")
DTYPE = SENTENCE.format(
    "1 op has",
    "MatMul (node 'b': op MatMul has no kernel for T=string on CPU; there are: T in {float})",
)


@pytest.fixture(autouse=True)
def known_ops(monkeypatch):
    monkeypatch.setattr(missing_kernels, "known", lambda: {"MapDataset", "RangeDataset"})


@pytest.mark.parametrize(
    "message, ops, reason",
    [
        (ONE, ["MapDataset"], "no kernel for op MapDataset"),
        (TWO, ["MapDataset", "RangeDataset"], "no kernel for ops MapDataset, RangeDataset"),
        (OTHER, ["MapDataset", "MatMul"], None),
        (DTYPE, ["MatMul"], None),
        ("DATA_LOSS: variables.index: the checksum of a block is wrong", [], None),
        ("INTERNAL: no kernel: MapDataset (node 'a')", [], None),
        ("", [], None),
    ],
)
def test_reason_of_a_load_error(message, ops, reason):
    assert missing_kernels.ops_in(message) == ops
    assert missing_kernels.expected_reason(message) == reason


def test_list_is_sorted_and_names_each_op_once():
    ops = missing_kernels.LIST.read_text(encoding="utf-8").splitlines()
    assert ops == sorted(set(ops))
