"""Ways to do the same, measured in turn, so that other load on the machine meets all of them."""

import statistics

TURNS = 3


def medians(*functions, turns=TURNS):
    """The median rate of each function, in requests a second. The first turn warms up."""
    rates = [[function() for function in functions] for _ in range(turns + 1)][1:]
    return [statistics.median(column) for column in zip(*rates)]


def ratio(first, second, turns=TURNS):
    """Median rate of `second` divided by that of `first`."""
    before, after = medians(first, second, turns=turns)
    return after / before
