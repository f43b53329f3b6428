"""Modules find their parameters, and name them and their nodes by their path."""

import pytest

import lazygraph as lg
from tests.training.modules import PATHS, Scale, Tower, scopes
from training.module import Module


class TestParameters:
    def test_are_listed_by_path_in_the_order_of_definition_and_tied_ones_once(self) -> None:
        tower = Tower()
        parameters = tower.parameters()
        assert list(parameters) == PATHS
        assert [var.item() for var in parameters.values()] == [1.0, 2.0, 3.0, 4.0, 5.0]
        assert parameters["scales.0.factor"] is tower.last.factor

    def test_take_their_path_as_their_name(self) -> None:
        parameters = Tower().parameters()
        assert [var.name for var in parameters.values()] == PATHS

    def test_of_a_part_keep_the_name_that_they_have_in_the_whole(self) -> None:
        tower = Tower()
        assert tower.scales[1].parameters()["factor"].name == "factor"  # not yet a part
        tower.parameters()
        assert tower.scales[1].parameters()["factor"].name == "scales.1.factor"
        tower.last.parameters()
        assert tower.last.factor.name == "scales.0.factor"

    def test_follow_what_is_added_and_removed(self) -> None:
        tower = Tower()
        tower.parameters()
        tower.scales.append(Scale(7.0))
        del tower.named["left"]
        assert list(tower.parameters()) == [*PATHS[:3], "scales.2.factor"]
        assert tower.scales[2].factor.name == "scales.2.factor"

    def test_with_one_path_are_refused(self) -> None:
        module = Scale()
        module.more = {1: lg.Var("a", 1.0), "1": lg.Var("b", 1.0)}  # type: ignore[attr-defined]
        with pytest.raises(ValueError, match=r"lead to one Var; got two for 'more\.1'$"):
            module.parameters()
        assert module.factor.name == "factor"

    def test_of_a_part_that_knows_its_owner_are_found(self) -> None:
        tower = Tower()
        tower.last.owner = tower  # type: ignore[attr-defined]
        assert list(tower.parameters()) == PATHS

    def test_of_a_module_without_any_are_none(self) -> None:
        assert Module().parameters() == Module().state_dict() == {}
        with pytest.raises(NotImplementedError, match=r"^Module must define forward$"):
            Module()(1.0)


def test_modules_are_listed_by_path_from_the_root_on() -> None:
    tower = Tower()
    modules = tower.modules()
    assert list(modules) == ["", "scales.0", "scales.1", "named.left.0", "last"]
    assert modules[""] is tower
    assert modules["scales.1"] is tower.same


def test_a_mode_reaches_every_module_and_the_module_comes_back() -> None:
    tower = Tower()
    assert all(module.training for module in tower.modules().values())
    assert tower.eval() is tower
    assert not any(module.training for module in tower.modules().values())
    assert tower.train() is tower
    assert all(module.training for module in tower.modules().values())


class Outer(Module):
    """Calls a part of a part, besides its own."""

    def __init__(self) -> None:
        self.tower = Tower()

    def forward(self, x: lg.Tensor) -> list[lg.Tensor]:
        return [*self.tower(x), self.tower.scales[0](x)]


class TestScopes:
    X = lg.ones((2,))

    def test_are_the_paths_of_the_modules(self) -> None:
        # The last one called, `same`, is `scales.1`: the first place counts.
        expected = ["", "scales.0", "scales.1", "named.left.0", "last", "scales.1"]
        assert scopes(Tower()(self.X)) == expected
        nested = [f"tower.{path}".rstrip(".") for path in expected]
        assert scopes(Outer()(self.X)) == [*nested, "tower.scales.0"]

    def test_stand_inside_those_of_the_user(self) -> None:
        with lg.scope("student"):
            assert scopes(Tower()(self.X))[:2] == ["student", "student.scales.0"]

    def test_of_a_part_called_alone_are_known_once_the_whole_was_listed(self) -> None:
        outer = Outer()
        assert outer.tower.last(self.X).node.scope == ""
        outer.parameters()
        assert outer.tower.last(self.X).node.scope == "tower.last"
        assert scopes(outer.tower(self.X))[:2] == ["tower", "tower.scales.0"]
        assert scopes(outer(self.X))[:2] == ["tower", "tower.scales.0"]

    def test_follow_a_change_of_the_parts(self) -> None:
        tower = Tower()
        tower(self.X)
        tower.scales.reverse()
        assert scopes(tower(self.X))[1:3] == ["scales.0", "scales.1"]
        tower.scales.insert(0, Scale())
        assert scopes(tower(self.X))[1:4] == ["scales.0", "scales.1", "scales.2"]
        tower.last = Scale()
        assert scopes(tower(self.X))[5] == "last"

    def test_of_a_module_that_is_no_part_are_those_of_its_caller(self) -> None:
        guest = Outer()

        class Host(Module):
            def forward(self, x: lg.Tensor) -> list[lg.Tensor]:
                return list(guest(x))

        class House(Module):
            def __init__(self) -> None:
                self.host = Host()

            def forward(self, x: lg.Tensor) -> list[lg.Tensor]:
                return list(self.host(x))

        assert scopes(House()(self.X))[:2] == ["host.tower", "host.tower.scales.0"]

    def test_end_with_an_error(self) -> None:
        class Broken(Module):
            def __init__(self) -> None:
                self.part = Module()

            def forward(self, x: lg.Tensor) -> lg.Tensor:
                return self.part(x)  # type: ignore[no-any-return]

        with pytest.raises(NotImplementedError):
            Broken()(self.X)
        assert (self.X + 1).node.scope == ""
        assert Scale()(self.X).node.scope == ""
