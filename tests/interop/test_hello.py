"""The drivers drive what they say they drive."""

from interop.support.clients import Client
from interop.support.driver import Driver


def test_the_client_is_the_one_and_the_version_of_the_table(driver: Driver, client: Client) -> None:
    assert driver.hello() == {"client": client.name, "version": client.version}
