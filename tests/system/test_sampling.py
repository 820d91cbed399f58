"""Covering samples of parameter combinations."""

from itertools import combinations, product

from tests.sampling import covering_sample


def test_a_sample_of_four_parameters_holds_every_pair_in_few_combinations():
    every = [dict(zip("abcd", values, strict=True)) for values in product(range(3), range(4), range(2), range(5))]
    sampled = [every[position] for position in covering_sample(every)]
    for first, second in combinations("abcd", 2):
        assert {(one[first], one[second]) for one in sampled} == {(one[first], one[second]) for one in every}
    assert len(sampled) <= 30  # 4 × 5 pairs of the two longest parameters are the least possible


def test_combinations_that_do_not_exist_are_not_missed():
    assert covering_sample([{"a": 0, "b": 0}, {"a": 1, "b": 1}, {"a": 1, "b": 1}]) == {0, 1}


def test_a_test_without_parameters_is_its_own_sample():
    assert covering_sample([{}]) == {0}


def test_one_parameter_is_sampled_whole():
    assert covering_sample([{"a": value} for value in range(5)]) == set(range(5))
