"""Sends an exact number of requests on open connections. wrk only runs for a given time."""

import http.client
import json
import random
import threading
import urllib.parse

from server import APPLICATION_ID

GAME = {
    "title": "A game of the benchmark", "genre": "new", "studio": "Studio 17", "note": "Made by a request",
    "score": 4711, "rating": 3.5, "plays": 12, "live": True, "tags": ["fast", "new"],
    "meta": {"level": 3, "mode": "solo"}, "released": {"__type": "Date", "iso": "2020-05-17T10:00:00.000Z"},
    "place": {"__type": "GeoPoint", "latitude": 48.2, "longitude": 11.5},
}
BATCH = {"requests": [{"method": "POST", "path": "/parse/classes/NewGame", "body": GAME}] * 50}


def _id(draw):
    return str(1000000000 + draw.randint(1, 10000))


def _find(name, where, **rest):
    return f"/classes/{name}?" + urllib.parse.urlencode({"where": json.dumps(where), **rest})


def _plays(draw, **rest):
    return _find("Play", {"genre": str(draw.randint(1, 100))}, order="-createdAt", limit=20, **rest)


def _comments(draw):
    user = {"__type": "Pointer", "className": "_User", "objectId": _id(draw)}
    return _find("Comments", {"user": user}, order="-createdAt", limit=20, include="post.user")


# Method, path and body by the operation's name in operations.py, random for each request.
CALLS = {
    "health": lambda draw: ("GET", "/health", None),
    "get": lambda draw: ("GET", "/classes/Game/" + _id(draw), None),
    "find": lambda draw: (
        "GET", _find("Game", {"genre": str(draw.randint(1, 100))}, order="-createdAt", limit=100), None
    ),
    "include": lambda draw: ("GET", _plays(draw, include="team"), None),
    "two-levels": lambda draw: ("GET", _comments(draw), None),
    "create": lambda draw: ("POST", "/classes/NewGame", GAME),
    "update": lambda draw: ("PUT", "/classes/Game/" + _id(draw), {"title": f"Title {draw.randint(1, 1000)}"}),
    "me": lambda draw: ("GET", "/users/me", None),
    "batch": lambda draw: ("POST", "/batch", BATCH),
}


class Callers:
    """Concurrent connections, each of which sends one request at a time."""

    def __init__(self, server, connections, tokens):
        self._connections = [http.client.HTTPConnection("127.0.0.1", server.port) for _ in range(connections)]
        self._tokens = tokens

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for connection in self._connections:
            connection.close()

    def send(self, operation, number):
        """Distributes `number` requests over the connections, and returns the average size of a response in bytes,
        including its header. Fails if a request is rejected.
        """
        count = len(self._connections)
        shares = [number // count + (index < number % count) for index in range(count)]
        lengths, failures = [], []

        def run(index):
            draw = random.Random(index)
            headers = {"X-Parse-Application-Id": APPLICATION_ID, "Content-Type": "application/json"}
            if operation == "me":
                headers["X-Parse-Session-Token"] = self._tokens[index % len(self._tokens)]
            try:
                for _ in range(shares[index]):
                    lengths.append(self._call(self._connections[index], headers, *CALLS[operation](draw)))
            except Exception as error:  # Raised again below, because an exception in a thread would only be printed.
                failures.append(error)

        threads = [threading.Thread(target=run, args=(index,)) for index in range(len(shares))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise SystemExit(f"bench: a request failed: {operation}: {failures[0]}")
        return sum(lengths) / len(lengths)

    def _call(self, connection, headers, method, path, body):
        text = None if body is None else json.dumps(body, separators=(",", ":"))
        connection.request(method, "/parse" + path, text, headers)
        answer = connection.getresponse()
        data = answer.read()
        if answer.status >= 400 or b'{"error"' in data:
            raise RuntimeError(f"{answer.status} {data[:200]}")
        return len(str(answer.headers)) + len(data)
