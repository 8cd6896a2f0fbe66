"""docker/compose.yaml: valid by the schema of the Compose specification, and its files are there."""

from clients.server import REPOSITORY

COMPOSE = REPOSITORY / "docker" / "compose.yaml"


def test_compose_is_valid_and_its_files_are_there(schemas):
    assert schemas.problems_of_compose(COMPOSE) == ""
    for service in schemas.read(COMPOSE)["services"].values():
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert (COMPOSE.parent / source).exists(), source
