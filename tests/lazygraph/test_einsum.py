"""einsum, tensordot, vecdot and outer against NumPy; gradients; cost; refusals."""

import re
import string
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazygraph as lg
from lazygraph import errors
from tests.lazygraph.exactness import Array
from tests.lazygraph.gradients import assert_gradients

# Lengths of the letters; those of `...` are (2, 3), or a part of it with ones.
LENGTHS = {"i": 2, "j": 3, "k": 4, "l": 5, "b": 2, "h": 3, "A": 2, "z": 0}
FORMS = (
    *("ij,jk->ik", "ij,jk", "ij,kj->ki", "ij,ij->ij", "ij,ij->", "i,j->ij", "i,j->ji", "i,i"),
    *(
        "ii->i",
        "ii",
        "iji->j",
        "iji->ij",
        "iii->i",
        "iii",
        "iij,jkk->ik",
        "ij->ji",
        "ij->",
        "ij",
    ),
    *(
        "bij,bjk->bik",
        "bhik,bhlk->bhil",
        "bhik,bhlk->hb",
        "ij,ij,ij->i",
        "i,ij,j",
        "ij,jk,kl->il",
    ),
    *("ij,jk,kl,l->i", "Ai,i", "iA,A", ",ij->ij", ",->", "->", "iz,zj->ij", "zz->z", "zi,z->i"),
    *(
        "...ij,...jk->...ik",
        "...ij,...jk",
        "i...->...i",
        "...i,i->...",
        "...,...",
        "i...i->...i",
    ),
    *("...ij,jk,...k->i...", " i j , j k -> k i "),
)


def shape_of(term: str, rng: np.random.Generator) -> tuple[int, ...]:
    before, dots, behind = term.partition("...")
    rest = [LENGTHS[letter] for letter in before], [LENGTHS[letter] for letter in behind]
    more = [2, 3][int(rng.integers(0, 3)) :] if dots else []
    return (*rest[0], *(n if rng.random() < 0.7 else 1 for n in more), *rest[1])


def drawn(form: str, rng: np.random.Generator) -> list[Array]:
    terms = form.replace(" ", "").split("->")[0].split(",")
    return [rng.standard_normal(shape_of(term, rng)) for term in terms]


@pytest.mark.parametrize("form", FORMS)
def test_the_letters_mean_what_numpy_takes_them_for(
    form: str, rng: np.random.Generator
) -> None:
    for _ in range(5):
        xs = drawn(form, rng)
        wanted = np.einsum(form, *xs)
        found = lg.einsum(form, *map(lg.asarray, xs)).numpy()
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("form", [form for form in FORMS if "z" not in form and form != "->"])
def test_gradients_are_right_to_second_order(form: str, rng: np.random.Generator) -> None:
    assert_gradients(lambda *xs: lg.einsum(form, *map(lg.sin, xs)), drawn(form, rng), rng)


def test_random_forms_mean_what_numpy_takes_them_for() -> None:
    rng = np.random.default_rng(7)
    for _ in range(150):
        letters = list(string.ascii_letters[: int(rng.integers(1, 6))])
        lengths = {letter: int(rng.integers(1, 4)) for letter in letters}
        terms = [
            "".join(rng.choice(letters, rng.integers(0, 4))) for _ in range(rng.integers(1, 5))
        ]
        used = sorted(set("".join(terms)))
        output = "".join(rng.permutation(used)[: int(rng.integers(0, len(used) + 1))])
        xs = [rng.standard_normal([lengths[k] for k in term]) for term in terms]
        form = f"{','.join(terms)}->{output}"
        found = lg.einsum(form, *map(lg.asarray, xs)).numpy()
        np.testing.assert_allclose(found, np.einsum(form, *xs), rtol=1e-11, atol=1e-12)


def test_integers_stay_exact_and_keep_their_dtype() -> None:
    a = lg.asarray(np.array([[2**30, 1], [3, 4]], np.int32))
    y = lg.einsum("ij,ij->i", a, lg.asarray(np.array([[1, 1], [1, 1]], np.int32)))
    assert (y.dtype, y.tolist()) == (lg.int32, [2**30 + 1, 7])
    assert lg.einsum("ij->j", a).dtype is lg.int32
    assert lg.vecdot(a, a).dtype is lg.int32


def test_a_plain_product_is_one_matmul_and_nothing_else() -> None:
    a, b = lg.ones((2, 3, 4)), lg.ones((2, 4, 5))
    before = lg.stats().nodes_made
    y = lg.einsum("bij,bjk->bik", a, b)
    assert lg.stats().nodes_made - before == 1
    assert y.node.op.name == "matmul"


def test_of_three_operands_the_cheap_pair_is_multiplied_first() -> None:
    # From the left, the first product would have 200 x 200 elements.
    column, row, x = lg.ones((200, 1)), lg.ones((1, 200)), lg.ones((200,))
    y = lg.einsum("ij,jk,k->i", column, row, x)
    assert max(node.spec.size for node in lg.extend.postorder([y.node])) == 200
    assert y.tolist() == [200.0] * 200


@pytest.mark.parametrize(
    ("form", "shapes", "message"),
    [
        (
            "ij,jk",
            [(2, 3)],
            "subscripts must be for as many operands as there are, 1; got 'ij,jk'",
        ),
        ("i1", [(2,)], "subscripts must be letters, '...', commas and one '->'; got 'i1'"),
        (
            "i->j->k",
            [(2,)],
            "subscripts must be letters, '...', commas and one '->'; got 'i->j->k'",
        ),
        ("ij", [(2,)], "'ij' is for an operand of 2 axes; got one of 1"),
        ("i", [(2, 3)], "'i' is for an operand of 1 axes; got one of 2"),
        ("ij...", [(2,)], "'ij...' is for an operand of 2 axes or more; got one of 1"),
        ("i..", [(2,)], "subscripts must be letters, '...', commas and one '->'; got 'i..'"),
        (
            "...i...",
            [(2,)],
            "'...' must stand once for an operand or the result; got '...i...'",
        ),
        ("i...->i", [(2, 3)], "the result must have the axes of '...' too; got 'i...->i'"),
        (
            "i->ii",
            [(2,)],
            "each letter of the result must occur there once, and in an operand; g",
        ),
        (
            "i->j",
            [(2,)],
            "each letter of the result must occur there once, and in an operand; g",
        ),
        ("ij,jk", [(2, 3), (4, 5)], "the axes of letter j must have one length; got 3 and 4"),
        ("ii", [(2, 3)], "the axes of letter i must have one length; got 2 and 3"),
        ("i,i", [(1,), (3,)], "the axes of letter i must have one length; got 1 and 3"),
        ("...,...", [(2,), (3,)], "axes of '...' must have one length; got 2 and 3"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(
    form: str, shapes: list[tuple[int, ...]], message: str
) -> None:
    with pytest.raises(errors.ShapeError, match=re.escape(f"einsum: {message}")) as caught:
        lg.einsum(form, *map(lg.ones, shapes))
    assert len(caught.value.__notes__) == len(shapes)
    assert caught.value.__notes__[0].startswith(
        f"  float32{list(shapes[0])} built at test_eins"
    )


AXES: tuple[Any, ...] = (
    0,
    1,
    2,
    (1, 0),
    ([1, 2], [0, 1]),
    ([2, 1], [1, 0]),
    ((-1,), (1,)),
    ([], []),
)


@pytest.mark.parametrize("axes", AXES, ids=str)
def test_tensordot_pairs_axes(axes: Any, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((2, 3, 3)), rng.standard_normal((3, 3, 4))
    wanted = np.tensordot(a, b, axes)
    found = lg.tensordot(lg.asarray(a), lg.asarray(b), axes=axes)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12, atol=1e-13)
    assert_gradients(lambda x, y: lg.tensordot(x, y, axes=axes), [a, b], rng)


def test_vecdot_sums_products_over_one_axis(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((4, 1, 3)), rng.standard_normal((2, 3))
    found = lg.vecdot(lg.asarray(a), lg.asarray(b)).numpy()
    np.testing.assert_allclose(found, (a * b).sum(-1), rtol=1e-12)
    c = rng.standard_normal((4, 5, 3))
    found = lg.vecdot(lg.asarray(a[:, :1]), lg.asarray(c[:, :1]), axis=0).numpy()
    np.testing.assert_allclose(found, (a * c[:, :1]).sum(0), rtol=1e-12)
    assert_gradients(lg.vecdot, [a, b], rng)


def test_outer_multiplies_each_with_each(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal(3), rng.standard_normal(4)
    assert np.array_equal(lg.outer(lg.asarray(a), lg.asarray(b)).numpy(), np.outer(a, b))


def test_operands_that_do_not_fit_are_refused_in_a_sentence() -> None:
    x, y = lg.ones((2, 3)), lg.ones((4, 5))
    calls: list[tuple[Callable[[], lg.Tensor], str]] = [
        (
            lambda: lg.tensordot(x, y, axes=1),
            "paired axes must have the same lengths; got [3] a",
        ),
        (lambda: lg.tensordot(x, y, axes=3), "both operands must have as many axes as are pai"),
        (lambda: lg.tensordot(x, y, axes=([0], [0, 1])), "paired axes must have the same len"),
        (lambda: lg.vecdot(x, y), "axis -1 must have one length; got 3 and 5"),
        (
            lambda: lg.vecdot(x, lg.ones((2,)), axis=0),
            "the axis must be counted from the end; g",
        ),
        (
            lambda: lg.outer(x, lg.ones((2,))),
            "both operands must have one axis; got (2, 3) and",
        ),
    ]
    for call, message in calls:
        with pytest.raises(errors.ShapeError, match=re.escape(message)) as caught:
            call()
        assert len(caught.value.__notes__) == 2
    with pytest.raises(errors.BoundsError, match=r"axes must lie in \[-2, 2\)"):
        lg.tensordot(x, y, axes=([2], [0]))
