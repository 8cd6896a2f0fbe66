"""The files of the image: few, small, and complete."""

import io
import subprocess
import tarfile

from clients.server import REPOSITORY

MOST_COMPRESSED_BYTES = 60_000_000


def test_no_shell_and_nothing_to_become_root_with(root):
    programs = {path.name for path in (root / "usr" / "bin").iterdir()}
    assert programs == {"tessera", "tensorflow_model_server", "tf_serving_entrypoint.sh"}
    assert sorted(path.name for path in root.iterdir()) == [
        *("etc", "lib", "lib64", "models", "usr", "var")
    ]
    for path in root.rglob("*"):
        assert path.is_symlink() or not path.stat().st_mode & 0o6022, path
    # Programs are three names of one file; everything else that may be run is a library.
    libraries = root / "usr" / "lib" / "x86_64-linux-gnu"
    for path in root.rglob("*"):
        if path.is_file() and path.stat().st_mode & 0o111 and path.parent != root / "usr" / "bin":
            assert path.parent == libraries or path.name == "ld-linux-x86-64.so.2", path


def test_every_library_that_is_needed_is_there(root):
    """By the loader of the image, which looks nowhere else."""
    out = subprocess.run(
        ["readelf", "-d", *root.rglob("*.so*"), root / "usr/bin/tessera"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    needed = {line.split("[")[1].rstrip("]") for line in out.splitlines() if "(NEEDED)" in line}
    assert "libdnnl.so.2" in needed
    assert needed <= {path.name for path in root.rglob("*.so*")}


def test_every_package_shows_its_version_and_its_licence(root):
    packages = {path.name for path in (root / "var/lib/dpkg/status.d").iterdir()}
    assert {"libc6", "libssl3", "libdnnl2", "libgrpc++-dev"} <= packages
    for package in packages:
        status = (root / "var/lib/dpkg/status.d" / package).read_text(encoding="utf-8")
        assert f"Package: {package}\n" in status and "\nVersion: " in status
        assert (root / "usr/share/doc" / package / "copyright").stat().st_size > 0


def test_it_is_small(root):
    compressed = io.BytesIO()
    with tarfile.open(fileobj=compressed, mode="w:gz", compresslevel=6) as archive:
        archive.add(root, arcname=".")
    assert compressed.tell() <= MOST_COMPRESSED_BYTES


def test_a_folder_that_is_not_empty_is_refused(tmp_path):
    (tmp_path / "file").touch()
    run = subprocess.run(
        [REPOSITORY / "docker" / "make_root", tmp_path, "/bin/true"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1 and f"{tmp_path} is not empty" in run.stderr
