"""How many threads programs run on follows from the setting, else from the cores at hand."""

import os
import subprocess
import sys

import pytest

import lazygraph as lg


def test_without_a_choice_there_is_a_thread_for_each_core_at_hand() -> None:
    assert lg.num_threads() == len(os.sched_getaffinity(0))
    program = "import os; os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]}); "
    program += "import lazygraph as lg; print(lg.num_threads())"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "1\n"


def test_the_number_is_set_for_a_while_or_for_good() -> None:
    with lg.using(threads=3):
        assert lg.num_threads() == 3
        lg.set_num_threads(5)
        assert lg.num_threads() == 5
        with lg.using(verify=True):
            assert lg.num_threads() == 5
        lg.set_num_threads(None)
        assert lg.num_threads() == len(os.sched_getaffinity(0))
    assert lg.num_threads() == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("count", [0, -1])
def test_a_program_needs_a_thread(count: int) -> None:
    with pytest.raises(lg.errors.BackendError) as caught:
        lg.set_num_threads(count)
    sentence = f"the number of threads must be at least 1; got {count}"
    assert caught.value.args == (sentence,)
    with pytest.raises(lg.errors.BackendError, match=sentence), lg.using(threads=count):
        pass
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        lg.set_num_threads(2.0)  # type: ignore[arg-type]
