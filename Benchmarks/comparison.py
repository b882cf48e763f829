"""Two ways to do the same, measured in turn, so that other load on the machine meets both."""

import statistics

TURNS = 3


def ratio(first, second, turns=TURNS):
    """Median of `second()` divided by that of `first()`, both in requests a second. The first turn warms up."""
    rates = [(first(), second()) for _ in range(turns + 1)][1:]
    return statistics.median(rate for _, rate in rates) / statistics.median(rate for rate, _ in rates)
