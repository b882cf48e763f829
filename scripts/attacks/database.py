"""Attacks on shared database resources: rows in memory, connections, plans, and the fields of classes."""

import itertools
import time

from attacks.sending import Wave, connect, request, spread
from attacks.victim import Count, Create, FindHundred, FindWide, Get, Near, Transaction

LISTED = 12
ELEMENTS = 200_000
GROWN = 9
LARGE = 300

SCHEMA = {
    "Large": {"text": "String"},
    "Few": {"n": "Number", "t": "String", "place": "GeoPoint"},
    "Listed": {"list": "Array"},
    "Grown": {"n": "Number"},
}

ROWS = f"""
INSERT INTO "Few" ("objectId", "createdAt", "updatedAt", "n", "t", "place")
SELECT 'f' || n, now(), now(), n, 'word' || n, point(n, n) FROM generate_series(1, 50) AS n;
INSERT INTO "Listed" ("objectId", "createdAt", "updatedAt", "list")
SELECT 'l' || n, now(), now(), (SELECT jsonb_agg('element ' || m) FROM generate_series(1, {ELEMENTS}) AS m)
FROM generate_series(1, {LISTED}) AS n;
INSERT INTO "Large" ("objectId", "createdAt", "updatedAt", "text")
SELECT 'l' || n, now(), now(),
    repeat((SELECT string_agg(md5(n::text || m::text), '') FROM generate_series(1, 100) AS m), 400 * (1 + n % 3))
FROM generate_series(1, {LARGE}) AS n;
INSERT INTO "Grown" ("objectId", "createdAt", "updatedAt", "n") SELECT 'g' || n, now(), now(), n FROM generate_series(1, 100) AS n;
"""


class Repeated(Wave):
    """Connections that repeat their request until the time is over. With `leaves_at_once` they read only one byte."""

    def __init__(self, port, requests, leaves_at_once=False, **settings):
        super().__init__(port, requests, **settings)
        self.leaves_at_once = leaves_at_once

    def _send(self, sender, data, end):
        while time.monotonic() < end:
            if not self.leaves_at_once:
                super()._send(sender, data, end)
                continue
            try:
                with connect(self.port, sender, 4096) as connection:
                    connection.settimeout(max(0.1, end - time.monotonic()))
                    connection.sendall(data)
                    self._note("one byte" if connection.recv(1) else "closed")
            except TimeoutError:
                self._note("unanswered")
            except OSError:
                self._note("closed")


def again(make, count, **settings):
    """Returns an attack with `count` connections that repeat a request, which `make` creates from their number."""
    def send(_, port, senders):
        requests = [(number % senders, make(number)) for number in range(count)]
        return Repeated(port, requests, **settings).run()
    return send


def find(class_name, **query):
    return request("POST", f"/classes/{class_name}", {"_method": "GET", **query})


def large_find(_):
    return request("GET", "/classes/Wide", query={"limit": "10000"})


def slow_exclusion(_):
    other = {"query": {"className": "Big", "where": {"a": {"$gte": 0}}, "limit": 30_000}, "key": "t"}
    return find("Big", where={"t": {"$dontSelect": other}}, limit=100)


def long_transaction(number):
    path = f"/parse/classes/Listed/l{number % LISTED + 1}"
    calls = [
        {"method": "PUT", "path": path, "body": {"list": {"__op": "AddUnique", "objects": [f"element {part * 7}"]}}}
        for part in range(50)
    ]
    return request("POST", "/batch", {"transaction": True, "requests": calls})


class NewTexts(Wave):
    """Finds with different conditions, each of which scans a whole class."""

    numbers = itertools.count()

    def _send(self, sender, _, end):
        while time.monotonic() < end:
            bits = next(self.numbers)
            conditions = [
                {"abcd"[place % 4]: {"$gt": -1} if bits >> place & 1 else {"$lt": 5_000}} for place in range(14)]
            super()._send(sender, find("Big", where={"$and": conditions, "t": "none"}, limit=1), end)


def new_texts(_, port, senders):
    return NewTexts(port, spread(b"", 64, senders), seconds=5).run()


class FirstReads(Wave):
    """Gets of objects of 1 to 4 MB, each of which is read once, so that the server cannot know that it is large."""

    numbers = itertools.count(1)

    def _send(self, sender, _, end):
        while (number := next(self.numbers)) <= LARGE and time.monotonic() < end:
            super()._send(sender, request("GET", f"/classes/Large/l{number}"), end)


def first_reads(_, port, senders):
    return FirstReads(port, spread(b"", 64, senders), seconds=15).run()


def new_fields(_, port, senders):
    """Saves objects with a hundred new fields each."""
    requests = [
        (number % senders, request("POST", "/classes/Grown", {f"field{number}x{place}": 1 for place in range(100)}))
        for number in range(GROWN)
    ]
    statuses = Wave(port, requests, seconds=5).run()
    time.sleep(1)
    return statuses


def attacks(attack):
    """Returns the attacks by name. `attack` is the catalogue's class `Attack`."""
    return {
        "large finds, one byte read": attack(
            again(large_find, 64, leaves_at_once=True, seconds=5), allowed=33, beside={FindHundred: 0, Count: 0}),
        "slow exclusions": attack(
            again(slow_exclusion, 16, seconds=6), beside={FindHundred: 0, Count: 0, Near: 0}),
        "transactions on long lists": attack(
            again(long_transaction, 12, seconds=8), victim=Get, allowed=33, beside={FindHundred: 0, Transaction: 3}),
        "first reads of large objects": attack(first_reads, allowed=33),
        # Slow reads may use more connections than the machine has processors.
        "finds of ever new texts": attack(new_texts, beside={FindHundred: 0.1, Create: 0.1}),
        "new fields": attack(new_fields, refusal=400, beside={FindWide: 0}),
    }
