"""The measured operations with their references and goals."""

import dataclasses

import statements
from goals import Goal


@dataclasses.dataclass(frozen=True)
class Operation:
    """`name`: as in requests.lua. `reference`: see references.py. `script`: the script for pgbench.
    `goal`: the minimum ratio to the reference. `length`: the minimum average size of valid responses in bytes.
    `writes`: begins with a checkpoint and an empty table for new rows. `shortest`: the minimum seconds of a
    measurement, for slow operations. `logs`: whether requests are logged. False for comparisons with health, which
    isn't logged at the default level.
    """

    name: str
    title: str
    reference: str
    script: str | None = None
    goal: Goal | None = None
    length: int = 0
    writes: bool = False
    shortest: int = 1
    logs: bool = True


def _data(name, title, script, goal=None, length=0, **rest):
    return Operation(name, title, "pgbench", script, goal, length, **rest)


OPERATIONS = [
    Operation("health", "health", "bare", goal=Goal(0.90)),
    _data("get", "get by id", statements.GET, Goal(0.40), 900),
    _data("find", "find 100 of 10,000, indexed, ordered", statements.FIND, Goal(0.50), 40_000),
    _data("include", "find 20 with an include", statements.INCLUDE, Goal(0.45), 6_500),
    _data("two-levels", "find 20 with an include of two levels", statements.TWO_LEVELS, Goal(0.45), 15_000),
    _data("array", "find 20 with an include of an array", statements.ARRAY, Goal(0.45), 19_000),
    _data("feed", "feed: 20 posts of the 20 I follow, `$select`, with authors", statements.FEED, length=9_500),
    _data("in-query", "feed: 20 posts of 20 users, `$inQuery`", statements.IN_QUERY, length=6_000),
    _data("create", "create, 12 fields", statements.CREATE, Goal(0.75), writes=True),
    _data("update", "update of one field", statements.UPDATE, writes=True),
    _data("increment", "increment", statements.INCREMENT, Goal(0.75), writes=True),
    _data("batch", "batch of 50 creates", statements.BATCH, Goal(0.60), writes=True, shortest=6),
    Operation("me", "users/me", "health", goal=Goal(0.80), length=700, logs=False),
    Operation("login", "log-in", "crypt", goal=Goal(0.90), writes=True, shortest=8),
    Operation("file", "file of 1 MB", "nginx", goal=Goal(0.40), length=1_048_576),
    Operation("range", "64 KB out of that file", "nginx", length=65_536),
]
