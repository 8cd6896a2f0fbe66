"""The two places where tests run programs of the image: a chroot of its files, and a container."""

import contextlib
import dataclasses
import os
import pathlib
import shutil
import subprocess

from clients.server import REPOSITORY, Server

USER = 65532
ENTRYPOINT = "/usr/bin/tf_serving_entrypoint.sh"


class Unavailable(Exception):
    """This machine has no such place; the text says why."""


@dataclasses.dataclass
class Run:
    """What one says about a run of the image on a command line."""

    arguments: tuple[str, ...] = ()
    entrypoint: str = ENTRYPOINT
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    mounts: dict[str, os.PathLike] = dataclasses.field(default_factory=dict)  # by target
    user: int = USER


class Place:
    """A place with a command for each run of the image."""

    def command(self, run):
        raise NotImplementedError

    def output(self, run):
        """Runs to the end: (exit code, standard output and error)."""
        done = subprocess.run(
            self.command(run),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout

    def serve(self, run):
        """A Server that was started by the run, with its arguments behind those of Server."""
        start = dataclasses.replace(run, arguments=())
        return Server(*run.arguments, program=self.command(start))


class Chroot(Place):
    """A chroot of the files of docker/make_root, on the network of this machine."""

    def __init__(self, root):
        self.root = root
        if os.geteuid() != 0:
            raise Unavailable("a chroot needs root")
        if shutil.which("capsh") is None:
            raise Unavailable("capsh is not installed: run scripts/setup")
        code, out = self.output(Run(("--version",)))
        if code != 0:
            raise Unavailable(f"no program runs in a chroot here: {out}")

    def command(self, run):
        program = run.entrypoint if "/" in run.entrypoint else f"/usr/bin/{run.entrypoint}"
        return [
            *("unshare", "--mount", str(pathlib.Path(__file__).with_name("in_root"))),
            *(str(self.root), str(run.user)),
            *(f"{os.path.abspath(source)}:{target}" for target, source in run.mounts.items()),
            *("--", *(f"{name}={value}" for name, value in run.environment.items())),
            *("--", program, *run.arguments),
        ]


class Container(Place):
    """Containers of an image, by docker or by podman, on the network of this machine."""

    def __init__(self, image):
        self.image = image
        self.engine = None
        problems = []
        for engine in filter(shutil.which, ("docker", "podman")):
            self.engine = engine
            code, out = self.output(Run(("--version",)))
            if code == 0:
                return
            problems.append(f"{engine} runs no container: {out.strip()}")
        raise Unavailable("; ".join(problems) or "neither docker nor podman is installed")

    def command(self, run):
        return [self.engine, "run", "--rm", "--network=host", *self._confined(run)]

    @contextlib.contextmanager
    def in_background(self, run, *options):
        """The id of a container of its own network, which goes away with the context."""
        name = self.ask("run", "--detach", "--network=none", *options, *self._confined(run))
        try:
            yield name
        finally:
            self.ask("rm", "--force", name)

    def ask(self, *arguments):
        """Standard output of the engine, which must end well."""
        command = [self.engine, *arguments]
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=120, check=True)
        return run.stdout.strip()

    def is_healthy(self, name):
        """Whether the health check of the image passes: by the engine's own runs of it, where it has
        any. Podman leaves them to systemd, and runs it here."""
        if self.engine == "docker":
            return self.ask("inspect", "--format={{.State.Health.Status}}", name) == "healthy"
        check = [self.engine, "healthcheck", "run", name]
        return subprocess.run(check, capture_output=True, timeout=120, check=False).returncode == 0

    def _confined(self, run):
        """Options for the run as one without rights, the image, and its arguments."""
        return [
            *("--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"),
            *(f"--entrypoint={run.entrypoint}",) * (run.entrypoint != ENTRYPOINT),
            *(f"--user={run.user}:{run.user}",) * (run.user != USER),
            *(f"--env={name}={value}" for name, value in run.environment.items()),
            *(
                f"--volume={os.path.abspath(source)}:{target}:ro"
                for target, source in run.mounts.items()
            ),
            *(self.image, *run.arguments),
        ]


def make_root(folder, binary):
    """Fills a new folder with the files of the image."""
    subprocess.run([REPOSITORY / "docker" / "make_root", folder, binary], check=True)
