#!/usr/bin/env python3
"""Runs queries that slow down as a class grows, on a class of millions of objects, and prints how long they take.

    Benchmarks/large_class.py [--rows 5000000] [--binary .build/release/roost] [--folder /var/tmp]

Creates a PostgreSQL cluster and a class, runs each query through Roost over HTTP, then creates suitable indexes and runs
it again. Prints the median and the maximum in milliseconds. Slow queries run less often.
"""
import argparse
import hashlib
import http.client
import json
import pathlib
import random
import shutil
import statistics
import tempfile
import time
import urllib.parse

from cluster import Cluster
from server import APPLICATION_ID, MASTER_KEY, Server

FIELDS = {
    "owner": {"type": "Pointer", "targetClass": "Owner"}, "cat": {"type": "String"}, "state": {"type": "String"},
    "name": {"type": "String"}, "score": {"type": "Number"}, "place": {"type": "GeoPoint"},
}
ROWS = """
INSERT INTO "Owner" ("objectId", "createdAt", "updatedAt", "level")
SELECT 'w' || n, now(), now(), n % 1000 FROM generate_series(0, {owners} - 1) n;
INSERT INTO "Item" ("objectId", "createdAt", "updatedAt", "owner", "cat", "state", "name", "score", "place")
SELECT 'i' || n, timestamptz '2020-01-01' + n * interval '1 second',
    timestamptz '2020-01-01' + hashint4(n) * interval '0.01 second', 'w' || abs(hashint4(n)) % {owners},
    'c' || abs(hashint4(n + 1)) % 10000, 's' || abs(hashint4(n + 2)) % 4, md5(n::text),
    abs(hashint4(n + 3)) % 1000000,
    point(hashint4(n + 4) / 2147483648.0 * 180, asin(hashint4(n + 5) / 2147483648.0) * 57.29)
FROM generate_series(0, {rows} - 1) n;
VACUUM ANALYZE "Item";
VACUUM ANALYZE "Owner";
"""
INDEXES = {
    "latest 10 by updatedAt": '("updatedAt")', "-score, 10": "(score)", "cat = x, 10 by createdAt": '(cat, "createdAt")',
    "pointer = x": "(owner)", "$inQuery, some 50 objects": None, "text equal": "(name)",
    "text prefix": "(name varchar_pattern_ops)", "count of a quarter": '(state) INCLUDE ("_rperm")',
    "distinct of four values": "(state)",
}


def questions(rows, owners):
    def place():
        return {"__type": "GeoPoint", "latitude": random.uniform(-60, 60), "longitude": random.uniform(-180, 180)}

    def classes(where=None, **others):
        query = {"where": json.dumps(where)} if where else {}
        return "/classes/Item?" + urllib.parse.urlencode({**query, **others})

    def pointer():
        return {"__type": "Pointer", "className": "Owner", "objectId": f"w{random.randrange(owners)}"}

    def name():
        return hashlib.md5(str(random.randrange(rows)).encode()).hexdigest()

    inner = {"className": "Owner", "where": {"objectId": {"$in": []}}}

    def owners_of():
        inner["where"]["objectId"]["$in"] = [f"w{random.randrange(owners)}" for _ in range(2)]
        return {"owner": {"$inQuery": inner}}

    return {
        "get": lambda: f"/classes/Item/i{random.randrange(rows)}",
        "get with include": lambda: f"/classes/Item/i{random.randrange(rows)}?include=owner",
        "latest 10 by createdAt": lambda: classes(order="-createdAt", limit=10),
        "latest 10 by updatedAt": lambda: classes(order="-updatedAt", limit=10),
        "-score, 10": lambda: classes(order="-score", limit=10),
        "cat = x, 10 by createdAt": lambda: classes(
            {"cat": f"c{random.randrange(10000)}"}, order="-createdAt", limit=10),
        "pointer = x": lambda: classes({"owner": pointer()}),
        "$inQuery, some 50 objects": lambda: classes(owners_of()),
        "text equal": lambda: classes({"name": name()}),
        "text prefix": lambda: classes({"name": {"$regex": "^" + name()[:6]}}, limit=10),
        "count of all": lambda: classes(count=1, limit=0),
        "count of a quarter": lambda: classes({"state": "s1"}, count=1, limit=0),
        "skip a tenth, by createdAt": lambda: classes(order="createdAt", skip=rows // 10, limit=10),
        "near, within 10 km": lambda: classes({"place": {"$nearSphere": place(), "$maxDistance": 10 / 6371}}, limit=10),
        "near, no $maxDistance": lambda: classes({"place": {"$nearSphere": place()}}, limit=20),
        "distinct of four values": lambda: "/aggregate/Item?distinct=state",
        "$group of the same": lambda: "/aggregate/Item?" + urllib.parse.urlencode(
            {"pipeline": json.dumps([{"$group": {"_id": "$state"}}])}),
    }


def measure(connection, path, most=15, budget=20):
    """Returns the median and the maximum in milliseconds, or None for a query that was stopped."""
    times, begin = [], time.monotonic()
    while len(times) < most and (len(times) < 3 or time.monotonic() - begin < budget):
        start = time.monotonic()
        connection.request("GET", "/parse" + path(), headers={
            "X-Parse-Application-Id": APPLICATION_ID, "X-Parse-Master-Key": MASTER_KEY})
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            if json.loads(body).get("code") == 124:
                return None
            raise SystemExit(f"large_class: {answer.status} {body[:200]}")
        times.append((time.monotonic() - start) * 1000)
    return statistics.median(times), max(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--binary", default=".build/release/roost")
    parser.add_argument("--folder", default="/var/tmp")
    options = parser.parse_args()
    owners = max(1, options.rows // 50)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="roost-large-", dir=options.folder))
    folder.chmod(0o755)
    try:
        with Cluster(folder) as cluster, Server(
            options.binary, folder, cluster.uri(), options={"indexAdvice": "off", "classDefinitions": None}
        ) as server:
            server.call("POST", "/schemas/Owner", {"fields": {"level": {"type": "Number"}}}, master=True)
            server.call("POST", "/schemas/Item", {"fields": FIELDS}, master=True)
            begin = time.monotonic()
            cluster.sql(ROWS.format(rows=options.rows, owners=owners))
            size = cluster.sql("SELECT pg_size_pretty(pg_table_size('\"Item\"')) || ', indexes '"
                               " || pg_size_pretty(pg_indexes_size('\"Item\"'))")
            print(f"{options.rows} rows in {time.monotonic() - begin:.0f} s: {size}", flush=True)
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=200)
            asked = questions(options.rows, owners)
            plain = {}
            for name, path in asked.items():
                measure(connection, path, 1, 0)
                plain[name] = measure(connection, path)
                print(f"{name}: {text(plain[name])}", flush=True)
            for definition in dict.fromkeys(filter(None, INDEXES.values())):
                begin = time.monotonic()
                cluster.sql(f'SET maintenance_work_mem = \'256MB\'; CREATE INDEX ON "Item" {definition}')
                print(f"index {definition}: {time.monotonic() - begin:.0f} s", flush=True)
            cluster.sql('VACUUM ANALYZE "Item"')
            print("| Question | without an index | with the index |\n|---|---:|---:|")
            for name, path in asked.items():
                measure(connection, path, 2, 0)
                after = text(measure(connection, path)) if name in INDEXES else ""
                print(f"| {name} | {text(plain[name])} | {after} |", flush=True)
            connection.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def text(figure):
    if figure is None:
        return "stopped"
    return " (longest ".join(f"{value:.1f}" if value < 10 else f"{value:.0f}" for value in figure) + ")"


if __name__ == "__main__":
    main()
