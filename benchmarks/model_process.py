"""benchmarks/model_runner as a child process, which runs one model and times its own steps."""

import subprocess
import tempfile


class ModelProcess:
    def __init__(self, runner, directory, threads, flags=()):
        self._command = [str(runner), str(directory), f"--threads={threads}", *flags]
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)
        if self._process.stdout.readline() != "ready\n":
            raise SystemExit(f"model_runner does not load {directory}")
        self._files = tempfile.TemporaryDirectory()

    def ask(self, *words):
        print(*words, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline().rstrip("\n")
        if not answer or answer.startswith("error"):
            raise SystemExit(f"model_runner: {words}: {answer or 'ended'}")
        return answer

    def feed(self, inputs):
        for line in feed_lines(inputs, self._files.name):
            self.ask(line)

    def output(self, alias="output"):
        """The values of a float output."""
        import numpy as np

        file = f"{self._files.name}/output"
        shape = self.ask("output", alias, file).split()[1]
        return np.fromfile(file, np.float32).reshape([int(dim) for dim in shape.split(",")])

    def run(self, steps):
        """Seconds of each of `steps` runs."""
        return [int(nanoseconds) * 1e-9 for nanoseconds in self.ask("step", steps).split()]

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def feed_lines(inputs, folder):
    """The commands that set inputs, whose values are written into `folder`."""
    lines = []
    for alias, value in inputs.items():
        file = f"{folder}/{alias}"
        value.tofile(file)
        dims = ",".join(map(str, value.shape))
        lines.append(f"input {alias} {value.dtype.name} {dims} {file}")
    return lines
