"""The ports that tests give their servers."""

from clients.server import free_port


def test_no_port_is_given_twice_in_a_run():
    ports = [free_port() for _ in range(1000)]
    assert len(set(ports)) == len(ports)
