"""The files of the image, the image itself where a program builds images, and where they run."""

import contextlib
import os
import shutil
import subprocess

import pytest

from clients.client import Client
from clients.conftest import half_plus_two_copy  # noqa: F401  pylint: disable=unused-import
from clients.server import REPOSITORY, binary
from image.manifests import Schemas
from image.places import Chroot, Container, Run, Unavailable, make_root


@pytest.fixture(scope="session", name="root")
def _root(tmp_path_factory):
    """A folder with exactly the files of the image."""
    root = tmp_path_factory.mktemp("image") / "root"
    make_root(root, binary())
    return root


@pytest.fixture(scope="session", name="image")
def _image():
    """The tag of an image of the binary that is tested: (the program that built it, tag)."""
    tag = f"localhost/tessera-test:{os.getpid()}"
    docker_runs = shutil.which("docker") and not subprocess.run(
        ["docker", "info"], capture_output=True, check=False
    ).returncode
    builder = "docker" if docker_runs else shutil.which("buildah") and "buildah"
    if not builder:
        pytest.skip("neither a running docker nor buildah is there")
    subprocess.run([REPOSITORY / "docker" / "build", "--binary", binary(), tag], check=True)
    yield builder, tag
    subprocess.run([builder, "rmi", tag], check=True)


@pytest.fixture(scope="session")
def chroot(root, tmp_path_factory):
    """The chroot gets folders to mount on, which the image does not have."""
    copy = tmp_path_factory.mktemp("chroot") / "root"
    shutil.copytree(root, copy, symlinks=True, copy_function=os.link)
    try:
        return Chroot(copy)
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def container(image):
    try:
        return Container(image[1])
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(params=["chroot", "container"])
def place(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def start(place):
    """start(arguments..., field of Run=value...) -> server with a client as `server.client`."""
    with contextlib.ExitStack() as stack:

        def start_one(*arguments, **fields):
            server = stack.enter_context(place.serve(Run(arguments, **fields)))
            server.client = stack.enter_context(Client(server))
            return server

        yield start_one


@pytest.fixture(scope="session")
def schemas():
    return Schemas()
