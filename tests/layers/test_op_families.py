"""The declarations of ops stand in families, which are the packages of their kernels."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What the runtime puts into graphs, for the ops of many families.
OF_NO_FAMILY = "internal_ops"
# Packages without ops of their own.
NOT_FAMILIES = {"primitives", "testing"}


def families(root):
    folders = (root / "runtime/kernels").iterdir()
    return {folder.name for folder in folders if folder.is_dir()} - NOT_FAMILIES


def declarations(root):
    return {file.stem for file in (root / "runtime/ops").glob("*_ops.cc")} - {OF_NO_FAMILY}


def family_of(name, of):
    """The longest family that the name of a file of declarations starts with."""
    return max((family for family in of if name.startswith(family + "_")), key=len, default=None)


def test_the_longest_family_counts():
    assert family_of("data_flow_list_ops", {"data", "data_flow"}) == "data_flow"
    assert family_of("list_ops", {"data", "data_flow"}) is None


def test_a_file_of_declarations_is_named_after_a_package_of_kernels():
    known = families(ROOT)
    assert [name for name in sorted(declarations(ROOT)) if family_of(name, known) is None] == []


def test_a_package_of_kernels_has_declarations():
    known = families(ROOT)
    assert known - {family_of(name, known) for name in declarations(ROOT)} == set()
