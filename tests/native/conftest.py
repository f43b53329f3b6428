"""Keeps the machine code of tests out of the user's cache, and ends a test that hangs."""

import faulthandler
from collections.abc import Iterator

import pytest

# Threads of machine code hang without a word. No test needs this long on a busy machine.
LIMIT = 300.0


@pytest.fixture(scope="session", autouse=True)
def machine_code_in_a_folder_of_its_own(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def an_end_to_all_waiting() -> Iterator[None]:
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
