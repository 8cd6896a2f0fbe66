"""Each BUILD file names its real users: behind every entry of a `visibility` stands a package that
depends on a target of the file."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("apis", "benchmarks", "runtime", "serving", "tests")

VISIBILITY = re.compile(r"visibility\s*=\s*\[(.*?)\]", re.DOTALL)
ENTRY = re.compile(r'"//([\w/]*):(__pkg__|__subpackages__)"')
LABEL = re.compile(r'"//([\w/]+)[:"]')
LOAD = re.compile(r'load\("(?://([\w/]*))?:(\w+\.bzl)"')


def build_files(root):
    """Returns the text of each package's BUILD file by the package's path, "" for the root."""
    files = {"": root / "BUILD"} if (root / "BUILD").exists() else {}
    for folder in FOLDERS:
        for file in (root / folder).rglob("BUILD"):
            files[file.parent.relative_to(root).as_posix()] = file
    return {package: file.read_text() for package, file in sorted(files.items())}


def dependencies(root, package, text):
    """Returns the packages whose targets a BUILD file names, itself or by the macros it loads."""
    found = set(LABEL.findall(VISIBILITY.sub("", text)))
    for folder, name in LOAD.findall(text):
        macros = root / (folder or package) / name
        if macros.exists():
            found |= set(LABEL.findall(VISIBILITY.sub("", macros.read_text())))
    return found - {package}


def names(entry, kind, package):
    """Whether an entry of a visibility lets a package in."""
    if kind == "__pkg__":
        return package == entry
    return entry == "" or package == entry or package.startswith(entry + "/")


def entries_without_users(root):
    """Returns a line for each entry of a visibility that no package needs."""
    texts = build_files(root)
    users = {package: set() for package in texts}
    for package, text in texts.items():
        for used in dependencies(root, package, text):
            users.setdefault(used, set()).add(package)
    return [
        f"{package}: nothing in //{entry}:{kind} depends on it"
        for package, text in texts.items()
        for listed in VISIBILITY.findall(text)
        for entry, kind in ENTRY.findall(listed)
        if not any(names(entry, kind, user) for user in users[package])
    ]


def test_every_visibility_names_users():
    assert entries_without_users(ROOT) == []


def write(root, package, text):
    folder = root / package
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "BUILD").write_text(text)


def test_an_entry_without_a_user_is_found(tmp_path):
    write(
        tmp_path,
        "runtime/base",
        'package(default_visibility = [\n    "//runtime/graph:__pkg__",\n'
        '    "//runtime/exec:__subpackages__",\n    "//serving:__subpackages__",\n])\n',
    )
    write(tmp_path, "runtime/graph", 'cc_library(deps = ["//runtime/base:status"])')
    write(tmp_path, "runtime/exec/testing", 'cc_library(deps = ["//runtime/base"])')
    write(tmp_path, "serving/core", 'cc_library(visibility = ["//runtime/base:__pkg__"])')
    assert entries_without_users(tmp_path) == [
        "runtime/base: nothing in //serving:__subpackages__ depends on it",
        "serving/core: nothing in //runtime/base:__pkg__ depends on it",
    ]


def test_a_package_is_no_user_of_itself(tmp_path):
    write(
        tmp_path,
        "runtime/base",
        'cc_library(visibility = ["//runtime/base:__subpackages__"], deps = ["//runtime/base:x"])',
    )
    assert len(entries_without_users(tmp_path)) == 1


def test_dependencies_of_macros_count(tmp_path):
    write(tmp_path, "runtime/base", 'package(default_visibility = ["//runtime/kernels:__pkg__"])')
    write(tmp_path, "runtime/kernels", 'load(":kernel.bzl", "kernel")\nkernel(name = "x")')
    (tmp_path / "runtime/kernels/kernel.bzl").write_text('deps + ["//runtime/base:status"]')
    assert entries_without_users(tmp_path) == []
