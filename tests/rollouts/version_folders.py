"""What a training job does to the folders of versions, right and wrong."""

import pathlib
import shutil


def push(version, base_path, number):
    """Copies a saved version beside, then renames it: the server sees all of it or nothing."""
    base_path = pathlib.Path(base_path)
    base_path.mkdir(exist_ok=True)
    temporary = base_path.parent / f"{base_path.name}.{number}.tmp"
    shutil.copytree(version, temporary)
    temporary.rename(base_path / str(number))


def tear(folder):
    """Spoils a saved version, so that it does not load."""
    index = pathlib.Path(folder) / "variables" / "variables.index"
    index.write_bytes(index.read_bytes()[:20])
