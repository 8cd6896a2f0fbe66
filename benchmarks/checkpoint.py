#!/usr/bin/env python3
"""Checkpoints written and restored, against TensorFlow's.

    scripts/bench checkpoint [--megabytes=1024] [--tensors=32] [--rounds=5] [--folder=DIR]

The same float tensors, by turns: written, written so that they are on the disk, and restored, with
the checksums verified on both sides, from files in the page cache and from the disk. Ours are on the
disk in any case, so that both rows of writing do the same; TensorFlow does not sync by itself: in the
second row its files are synced after it. TensorFlow runs tf.train.Checkpoint, and the tf.compat.v1
Saver in a session. The table has the median of the rounds in seconds, and how many times as long the
faster of TensorFlow's takes. The disk's own speed, for the same bytes past the page cache, stands
below.

Builds //benchmarks:checkpoint_runner first; TESSERA_CHECKPOINT_RUNNER names one that is built.
"""
import argparse
import mmap
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

tf1 = tf.compat.v1
ROOT = pathlib.Path(__file__).resolve().parent.parent
# "restore" finds in the page cache what saving has left there, which is nothing where it wrote past
# the cache; "restore again" finds all.
TASKS = ("save", "save sync", "restore", "restore again", "restore from disk")


def sync(folder):
    """Waits until the files of a folder, and the folder, are on the disk."""
    for path in [*folder.iterdir(), folder]:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def forget(folder):
    """Drops the files of a folder from the page cache."""
    sync(folder)
    for path in folder.iterdir():
        descriptor = os.open(path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


class Ours:
    """A process that writes and restores."""

    def __init__(self, runner, folder, arguments):
        self.folder = folder
        self._process = subprocess.Popen(
            [runner, folder / "ckpt", f"--megabytes={arguments.megabytes}",
             f"--tensors={arguments.tensors}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, task):
        """Seconds."""
        print(task, file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            sys.exit("checkpoint: the runner has ended")
        return int(line) * 1e-9

    def close(self):
        self._process.stdin.close()
        self._process.wait()


class TensorFlows:
    """What both of TensorFlow's APIs have in common."""

    def __init__(self, folder):
        self.folder = folder

    def run(self, task):
        """Seconds."""
        start = time.perf_counter()
        if task == "restore":
            self._restore()
        else:
            self._save()
            if task == "save sync":
                sync(self.folder)
        return time.perf_counter() - start

    def close(self):
        pass


class Objects(TensorFlows):
    """tf.train.Checkpoint."""

    def __init__(self, folder, values):
        super().__init__(folder)
        self._checkpoint = tf.train.Checkpoint(
            **{f"layer_{i}": tf.Variable(value) for i, value in enumerate(values)})

    def _save(self):
        self._checkpoint.write(str(self.folder / "ckpt"))

    def _restore(self):
        self._checkpoint.read(str(self.folder / "ckpt")).assert_consumed()


class Names(TensorFlows):
    """tf.compat.v1.train.Saver."""

    def __init__(self, folder, values):
        super().__init__(folder)
        with tf.Graph().as_default() as graph:
            feeds = [tf1.placeholder(tf.float32, value.shape) for value in values]
            variables = [
                tf1.get_variable(f"layer_{i}/kernel", initializer=feed, use_resource=True)
                for i, feed in enumerate(feeds)]
            self._saver = tf1.train.Saver(variables)
            self._session = tf1.Session(graph=graph)
            self._session.run(tf1.global_variables_initializer(), dict(zip(feeds, values)))

    def _save(self):
        with self._session.graph.as_default():
            self._saver.save(self._session, str(self.folder / "ckpt"), write_meta_graph=False)

    def _restore(self):
        with self._session.graph.as_default():
            self._saver.restore(self._session, str(self.folder / "ckpt"))


def disk_seconds(folder, megabytes):
    """What writing as many bytes past the page cache takes."""
    block = mmap.mmap(-1, 8 << 20)
    block.write(np.random.default_rng(0).bytes(8 << 20))
    path = folder / "raw"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
    except OSError:
        return None  # a file system without O_DIRECT
    start = time.perf_counter()
    for _ in range(max(1, megabytes // 8)):
        os.write(descriptor, block)
    os.fsync(descriptor)
    seconds = time.perf_counter() - start
    os.close(descriptor)
    path.unlink()
    return seconds


def measure(side, task):
    """Seconds of one task; `restore` needs what `save` has written."""
    if task == "restore from disk":
        forget(side.folder)
    return side.run("restore" if task.startswith("restore") else task)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--tensors", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=pathlib.Path, help="where to write; default: $TMPDIR")
    arguments = parser.parse_args()

    runner = os.environ.get("TESSERA_CHECKPOINT_RUNNER")
    if not runner:
        subprocess.run(["bazel", "build", "//benchmarks:checkpoint_runner"], cwd=ROOT, check=True)
        runner = ROOT / "bazel-bin" / "benchmarks" / "checkpoint_runner"
    generator = np.random.default_rng(1)
    size = arguments.megabytes * (1 << 18) // arguments.tensors
    values = [generator.random(size, np.float32) for _ in range(arguments.tensors)]
    work = pathlib.Path(tempfile.mkdtemp(dir=arguments.folder))
    try:
        folders = [work / name for name in ("ours", "objects", "names")]
        for folder in folders:
            folder.mkdir()
        sides = {"tessera": Ours(runner, folders[0], arguments),
                 "tf.train.Checkpoint": Objects(folders[1], values),
                 "v1 Saver": Names(folders[2], values)}
        seconds = {(name, task): [] for name in sides for task in TASKS}
        disk = []
        for round_ in range(arguments.rounds + 1):
            for task in TASKS:
                for name, side in sides.items():
                    os.sync()  # nobody writes what another has left in the cache
                    elapsed = measure(side, task)
                    if round_ > 0:  # the first one warms up
                        seconds[name, task].append(elapsed)
            disk.append(disk_seconds(work, arguments.megabytes))
        for side in sides.values():
            side.close()
    finally:
        shutil.rmtree(work)

    print(f"{arguments.megabytes} MB in {arguments.tensors} tensors, seconds")
    print(f"{'':20}" + "".join(f"{name:>22}" for name in sides) + f"{'faster by':>12}")
    for task in TASKS:
        medians = [statistics.median(seconds[name, task]) for name in sides]
        print(f"{task:20}" + "".join(f"{median:22.3f}" for median in medians)
              + f"{min(medians[1:]) / medians[0]:12.2f}")
    if None not in disk:
        print(f"{'the disk alone':20}{statistics.median(disk):22.3f}")


if __name__ == "__main__":
    main()
