"""The job of train_jobs.py, for all tests that change it or run it."""

import shutil

import pytest


@pytest.fixture(scope="session", name="made")
def _made(tmp_path_factory):
    """A folder with the job, which tests leave as it is."""
    pytest.importorskip("tensorflow")
    from training import train_jobs  # pylint: disable=import-outside-toplevel
    folder = tmp_path_factory.mktemp("job")
    train_jobs.write_job(folder)
    return folder


@pytest.fixture(name="job")
def _job(made, tmp_path):
    """The path of a job in a folder of its own."""
    shutil.copytree(made, tmp_path / "job")
    return tmp_path / "job" / "job.yaml"


@pytest.fixture(scope="session", name="curve")
def _curve(made, tmp_path_factory):
    """The losses of a run that nothing interrupts."""
    from training.train_jobs import losses, train  # pylint: disable=import-outside-toplevel
    return losses(train(made / "job.yaml", folder=tmp_path_factory.mktemp("run")))
