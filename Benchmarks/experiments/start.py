"""The time from the start of the process to its first response, on a prepared database."""

import statistics

from goals import Figure, Goal

STARTS = 5


def run(stand):
    milliseconds = []
    for _ in range(STARTS):
        with stand.server() as server:
            milliseconds.append(server.seconds_to_first_answer * 1000)
    goal = Goal(250, at_most=True)
    return [Figure("start to first answer", statistics.median(milliseconds), goal, "ms", 0)]
