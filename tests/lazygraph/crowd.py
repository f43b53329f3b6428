"""Many threads that begin at the same time."""

import threading
from collections.abc import Callable, Sequence
from typing import Any


def crowd(actions: Sequence[Callable[[], Any]]) -> list[Any]:
    """What the actions return, each run in a thread of its own, all begun at once.

    Raises:
        BaseException: the first that one of them raised.
    """
    gate = threading.Barrier(len(actions))
    results: list[Any] = [None] * len(actions)
    errors: list[BaseException] = []

    def run(i: int) -> None:
        gate.wait()
        try:
            results[i] = actions[i]()
        except BaseException as error:  # noqa: BLE001 - handed to the caller
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(actions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
