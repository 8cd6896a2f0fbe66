"""What an engine does with a container of the image by itself: its health check and its stop signal."""

from clients.conftest import HALF_PLUS_TWO
from clients.fault_steps import wait_until
from image.places import Run


def test_the_engine_finds_it_healthy_and_ends_it_by_the_stop_signal(container):
    run = Run(mounts={"/models/model": HALF_PLUS_TWO})
    with container.in_background(run, "--health-interval=1s") as name:
        wait_until(lambda: container.is_healthy(name), "the container is healthy")
        container.ask("stop", "--time=100", name)
        # A killed one would have 137.
        assert container.ask("inspect", "--format={{.State.ExitCode}}", name) == "0"
