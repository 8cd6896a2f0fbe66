"""The image that docker/build makes: the same files, and what a registry and an engine read of it."""

import json
import subprocess

from clients.server import REPOSITORY, binary
from image.places import ENTRYPOINT, USER


def inspect(image):
    """The image's configuration, in Docker's format."""
    builder, tag = image
    command = ["docker", "image", "inspect"] if builder == "docker" else ["buildah", "inspect"]
    run = subprocess.run([*command, tag], stdout=subprocess.PIPE, check=True)
    found = json.loads(run.stdout)
    return found[0]["Config"] if builder == "docker" else found["Docker"]["config"]


def test_the_contract(image):
    config = inspect(image)
    assert config["Entrypoint"] == [ENTRYPOINT] and not config.get("Cmd")
    assert {"MODEL_NAME=model", "MODEL_BASE_PATH=/models"} <= set(config["Env"])
    assert set(config["ExposedPorts"]) == {"8500/tcp", "8501/tcp"}


def test_user_signal_health_check_and_labels(image):
    config = inspect(image)
    assert config["User"] == f"{USER}:{USER}"
    assert config["StopSignal"] == "SIGTERM"
    assert config["Healthcheck"]["Test"] == ["CMD", "/usr/bin/tessera", "health"]
    labels = config["Labels"]
    assert labels["org.opencontainers.image.title"] == "Tessera"
    revision = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=False
    ).stdout.strip()
    assert labels["org.opencontainers.image.revision"] == (revision or "unknown")
    version = subprocess.run(
        [binary(), "--version"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    assert version == f"tessera {labels['org.opencontainers.image.version']}\n"


def test_a_wrong_command_line_shows_how():
    run = subprocess.run(
        [REPOSITORY / "docker" / "build", "--quick"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2 and "docker/build [TAG]" in run.stderr
