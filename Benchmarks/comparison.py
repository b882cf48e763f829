"""Measures alternatives in turn, so that other load on the machine affects all of them."""

import statistics

TURNS = 3


def medians(*functions, turns=TURNS):
    """Returns the median rate of each function in requests per second. The first round warms up."""
    rates = [[function() for function in functions] for _ in range(turns + 1)][1:]
    return [statistics.median(column) for column in zip(*rates)]


def ratio(first, second, turns=TURNS):
    """Returns the median rate of `second` divided by that of `first`."""
    before, after = medians(first, second, turns=turns)
    return after / before
