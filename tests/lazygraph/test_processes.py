"""Processes that are forked or spawned: other random numbers, the same bits, no lost locks."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lazygraph as lg
from tests.lazygraph.exactness import assert_same_bits

TIMEOUT = 60
LOCKS = 6  # of random numbers, cells, leaves of Vars, plans, and memory of two kinds

# Every script prints what it found out, a line each; a child writes to a pipe.
FORKING = """
import os, threading
import numpy as np
import lazygraph as lg, training

def child(work):
    '''What `work` returns in a forked process, as text.'''
    reader, writer = os.pipe()
    number = os.fork()
    if not number:
        status = 1
        try:
            os.write(writer, repr(work()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as file:
        text = file.read()
    assert os.waitpid(number, 0)[1] == 0, "the child failed"
    return text

def draw():
    return lg.random.uniform((4,)).tolist()

def value(start):
    x = lg.asarray(np.linspace(start, 1.0, 12).reshape(3, 4))
    return lg.sum(lg.softmax(x @ x.mT) * lg.tanh(x[:, :3])).item()

class Learner:
    def __init__(self):
        self.w = lg.Var("w", np.linspace(-1.0, 1.0, 6).reshape(2, 3))
        self.opt = training.AdamW([self.w], lr=0.1)
        self.loop = training.TrainingLoop(max_grad_norm=1.0)

    def step(self):
        loss = lg.mean(lg.square(lg.tanh(self.w) - 0.5))
        outcome = self.loop.step(loss, self.opt)
        return outcome.loss, outcome.grad_norm, self.w.numpy().tolist()
"""


def ran(script: str, *arguments: str) -> list[str]:
    """The lines that a script prints, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


needs_fork = pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork here")


@needs_fork
class TestForked:
    def test_children_draw_other_numbers_and_the_same_ones_when_all_is_run_again(self) -> None:
        script = f"""{FORKING}
lg.random.seed(5)
draw()
for epoch in range(2):
    for worker in range(3):
        print(child(draw))
print(child(lambda: child(draw)))
print(draw())
"""
        first = ran(script)
        assert len(first) == len(set(first)) == 8
        assert ran(script) == first
        assert not set(ran(script.replace("seed(5)", "seed(6)"))) & set(first)

    def test_a_draw_that_was_recorded_before_is_the_same_in_all(self) -> None:
        lines = ran(f"""{FORKING}
recorded = lg.random.normal((3,)) * 2.0
print(child(recorded.tolist))
print(child(recorded.tolist))
print(recorded.tolist())
""")
        assert len(lines) == 3
        assert len(set(lines)) == 1

    def test_children_realize_and_step_to_the_bits_of_their_parent(self) -> None:
        lines = ran(f"""{FORKING}
learner = Learner()
lazy = lg.exp(learner.w * 2.0)
learner.step(), value(-1.0)                  # plans and memory exist before the fork
print(child(lambda: (learner.step(), learner.step(), value(-1.0), value(2.0), lazy.tolist())))
print(child(lambda: (learner.step(), learner.step(), value(-1.0), value(2.0), lazy.tolist())))
print((learner.step(), learner.step(), value(-1.0), value(2.0), lazy.tolist()))
""")
        assert len(lines) == 3
        assert len(set(lines)) == 1

    def test_what_a_child_does_is_not_seen_by_its_parent(self) -> None:
        lines = ran(f"""{FORKING}
learner = Learner()
held = (learner.w * 3.0).numpy()
kept = held.copy()
child(lambda: (learner.step(), learner.w.assign(np.zeros((2, 3))), value(0.0)))
print(learner.w.version, learner.loop.global_step, np.array_equal(held, kept))
""")
        assert lines == ["0 0 True"]

    def test_threads_that_are_done_leave_no_lock_behind(self) -> None:
        lines = ran(f"""{FORKING}
def work(results, i):
    lg.random.uniform((3,)).realize()
    results.append((value(i / 8.0), Learner().step()))

def crowd():
    results = []
    threads = [threading.Thread(target=work, args=(results, i)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(results)

crowd()
print(child(crowd))
print(crowd())
""")
        assert len(lines) == 2
        assert lines[0] == lines[1]

    @pytest.mark.parametrize("number", range(LOCKS))
    def test_a_thread_inside_of_any_lock_is_waited_for(self, number: int) -> None:
        lines = ran(f"""{FORKING}
import warnings
from lazygraph import locks
warnings.simplefilter("ignore", DeprecationWarning)  # of newer Pythons: threads and forks
kept = sorted(locks._locks, key=id)
inside, may_leave, left = threading.Event(), threading.Event(), threading.Event()

def stay():
    with kept[{number}]:
        inside.set()
        may_leave.wait()
        left.set()

def work():
    return left.is_set() and draw() and value(0.5) and Learner().step() and "works"

threading.Thread(target=stay).start()
inside.wait()
threading.Timer(0.05, may_leave.set).start()
print(len(kept), child(work))
""")
        assert lines == [f"{LOCKS} 'works'"]

    def test_children_of_a_busy_process_work(self) -> None:
        lines = ran(f"""{FORKING}
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
done = threading.Event()

def work():
    learner = Learner()
    while not done.is_set():
        learner.step(), draw(), value(learner.loop.global_step % 5)

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
expected = (value(0.5), Learner().step())
found = [child(lambda: (value(0.5), Learner().step(), draw())[:2]) for _ in range(40)]
done.set()
for thread in threads:
    thread.join()
print(set(found) == {{repr(expected)}})
""")
        assert lines == ["True"]


SPAWNED = """
import pickle, sys
import lazygraph as lg
with open(sys.argv[1], "rb") as file:
    lazy, done, var = pickle.load(file)
assert done.node.value is not None and lazy.node.value is None
before = lg.stats().realizations
done.numpy()
assert lg.stats().realizations == before
found = [lazy.numpy(), done.numpy(), var.numpy(), lg.sum(var * lazy).backward()[var].numpy()]
with open(sys.argv[1], "wb") as file:
    pickle.dump(found, file)
"""


def test_a_process_that_was_spawned_unpickles_graphs_values_and_vars(tmp_path: Path) -> None:
    x = lg.asarray(np.linspace(-1.0, 1.0, 12).reshape(3, 4))
    noise = lg.random.Generator(3).normal((3, 3), dtype=lg.float64)
    lazy = lg.softmax(x @ x.mT + noise)
    done = lg.tanh(x[::-1]).realize()
    var = lg.Var("var", np.linspace(0.0, 1.0, 9).reshape(3, 3))
    file = tmp_path / "pickled"
    file.write_bytes(pickle.dumps((lazy, done, var)))
    assert ran(SPAWNED, str(file)) == []
    found = pickle.loads(file.read_bytes())
    for array, tensor in zip(found, (lazy, done, var.tensor(), lazy), strict=True):
        assert_same_bits(array, tensor)


@pytest.mark.parametrize("stack", [(), (1,), (3,), (2, 2)], ids=str)
def test_a_pickle_keeps_the_bits_of_products_that_are_still_to_come(
    stack: tuple[int, ...], rng: np.random.Generator
) -> None:
    # Products read matrices as they lie, and a value that was transposed lies by columns.
    for m, k, n in rng.integers(1, 24, (30, 3)):
        x = lg.asarray(rng.standard_normal((*stack, k, m)).astype(np.float32))
        other = lg.asarray(rng.standard_normal((*stack, k, n)).astype(np.float32))
        turned = (x * 1.0).mT.realize()
        twin = pickle.loads(pickle.dumps(turned))
        assert_same_bits(twin @ other, turned @ other)
        assert twin.numpy().strides == turned.numpy().strides
