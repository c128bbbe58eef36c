"""The order by variety, in which a budget takes the cases of a sweep."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteways.plan import variety
from byteways.plan.variety import DRAWN, MOST_COMPARED, by_variety

Values = Counter[Hashable]


def compared_with_all(groups: Sequence[Values]) -> list[int]:
    """The order by its definition: every group that is left is compared for each place."""
    left, seen, order = [*range(len(groups))], Counter[Hashable](), []
    while left:
        often = [
            sum(seen[value] * times for value, times in groups[index].items()) / groups[index].total()
            for index in left
        ]
        order.append(left.pop(often.index(min(often))))
        seen.update(groups[order[-1]])
    return order


groups_of_values = st.lists(
    st.dictionaries(st.integers(0, 8), st.integers(1, 3), min_size=1, max_size=5).map(Counter), max_size=25
)


@given(groups_of_values)
def test_the_next_group_is_that_of_the_rarest_values(groups: list[Values]) -> None:
    """Catches sums that miss a value or count one twice, and ties that take another than the first."""
    assert list(by_variety(groups)) == compared_with_all(groups)


@given(groups_of_values)
def test_values_that_all_groups_share_change_nothing(groups: list[Values]) -> None:
    """Catches an order that depends on what distinguishes no group."""
    more = [group + Counter({"pattern": group.total()}) for group in groups]
    assert list(by_variety(more)) == compared_with_all(more)


def product(*axes: int) -> list[Values]:
    """A group for each element of a product, which has one value of each axis."""
    ranges = [range(axis) for axis in axes]
    return [Counter(enumerate(chosen)) for chosen in itertools.product(*ranges)]


def test_any_prefix_of_many_groups_has_all_values_about_equally_often() -> None:
    """Catches draws that lack values of an axis, and groups that are lost or come twice."""
    groups = product(40, 16, 5, 2)
    assert len(groups) > MOST_COMPARED
    order = list(by_variety(groups))
    assert sorted(order) == [*range(len(groups))]
    assert order == list(by_variety(groups))  # a resumed run plans alike
    for taken in (80, 400, 1000):
        seen: Values = Counter()
        for index in order[:taken]:
            seen.update(groups[index])
        for axis, values in enumerate((40, 16, 5, 2)):
            counts = [seen[axis, value] for value in range(values)]
            # Of random order, those of the longest axis differ by more than their mean.
            assert max(counts) - min(counts) <= 3 + 0.4 * taken / values


class Counting:
    """A value that counts how often it is looked up."""

    looked_up = 0

    def __init__(self, value: Hashable) -> None:
        self.value = value

    def __hash__(self) -> int:
        Counting.looked_up += 1
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counting) and self.value == other.value


@pytest.mark.parametrize("most", [0, DRAWN])
def test_the_work_grows_with_the_number_of_groups(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches values of all groups that are looked up again for every place: a plan of 30,000 cases that a
    budget had to cut took minutes.
    """
    monkeypatch.setattr(variety, "MOST_COMPARED", most)
    each = []
    for many in (4, 16):
        groups = [Counter({Counting(value): 1 for value in group}) for group in product(many, 16, 10)]
        Counting.looked_up = 0
        assert len(list(by_variety(groups))) == len(groups)
        each.append(Counting.looked_up / len(groups))
    assert each[1] <= 1.5 * each[0] <= 60
