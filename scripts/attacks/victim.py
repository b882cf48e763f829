"""A client that repeats a request during an attack, and measures how long each response takes."""

import itertools
import json
import multiprocessing
import time

from attacks.sending import connect, read_answer, request
from attacks.sockets import frame, open_socket, read_message

# No attack uses this sender.
SENDER = 9_000


class Get:
    """Gets one object."""

    data = request("GET", "/classes/Item/i7")
    status = 200

    def __init__(self, port):
        self.connection = connect(port, SENDER)

    def ask(self):
        self.connection.sendall(self.data)
        status = read_answer(self.connection)
        if status != self.status:
            raise ConnectionError(f"answered with {status}, not {self.status}")


class Call(Get):
    """Calls a function that returns immediately."""

    data = request("POST", "/functions/hello", {})


class Save(Get):
    """Saves an object of a megabyte."""

    data = request("PUT", "/classes/Item/i6", {"text": "x" * 1_100_000})


class SaveLittle(Get):
    """Saves an object of 20 kilobytes."""

    data = request("PUT", "/classes/Item/i8", {"text": "x" * 20_000})


class FindHundred(Get):
    """Finds a hundred objects of some kilobytes each."""

    data = request("GET", "/classes/Wide", query={"limit": "100"})


class FindWide(Get):
    """Finds objects of the class to which the attack adds fields."""

    data = request("GET", "/classes/Grown", query={"limit": "100", "where": {"n": {"$gt": 0}}})


class Count(Get):
    """Counts the objects of a small class."""

    data = request("GET", "/classes/Few", query={"count": "1", "limit": "0", "where": {"n": {"$gt": 3}}})


class Near(Get):
    """Searches a small class by location and by text in turn."""

    place = {"__type": "GeoPoint", "latitude": 3, "longitude": 4}
    near = request("GET", "/classes/Few", query={"where": {"place": {"$nearSphere": place}}})
    word = request("GET", "/classes/Few", query={"where": {"t": {"$text": {"$search": {"$term": "word7"}}}}})

    def __init__(self, port):
        super().__init__(port)
        self.searches = itertools.cycle((self.near, self.word))

    def ask(self):
        self.data = next(self.searches)
        super().ask()


class Create(Get):
    """Saves a new object."""

    data = request("POST", "/classes/Item", {"n": 7})
    status = 201


class Transaction(Get):
    """Changes an object in a transaction."""

    data = request("POST", "/batch", {"transaction": True, "requests": [
        {"method": "PUT", "path": "/parse/classes/Item/i9", "body": {"n": {"__op": "Increment", "amount": 1}}}]})


class Event:
    """Saves an object, and waits for its live-query event."""

    def __init__(self, port):
        self.socket = open_socket(port, SENDER)
        self.socket.settimeout(60)
        query = {"className": "Published", "where": {"n": 77}}
        self.socket.sendall(frame({"op": "subscribe", "requestId": 1, "query": query}))
        while json.loads(read_message(self.socket))["op"] != "subscribed":
            pass
        self.connection = connect(port, SENDER)

    def ask(self):
        self.connection.sendall(request("POST", "/classes/Published", {"n": 77}))
        if read_answer(self.connection) != 201:
            raise ConnectionError("not saved")
        while json.loads(read_message(self.socket))["op"] != "create":
            pass


def _ask(kind, port, answered, stop, results):
    waits, faults, client = [], [], None
    while not stop.is_set():
        begin = time.monotonic()
        try:
            client = client or kind(port)
            client.ask()
        except OSError as problem:
            faults.append(str(problem))
            client = None
        waits.append(time.monotonic() - begin)
        answered.set()
        time.sleep(0.005)
    results.put((waits, faults))


class Victim:
    """Runs a client in a separate process during a `with` block."""

    def __init__(self, kind, port):
        self.answered, self.stop = multiprocessing.Event(), multiprocessing.Event()
        self.results = multiprocessing.Queue()
        self.process = multiprocessing.Process(
            target=_ask, args=(kind, port, self.answered, self.stop, self.results), daemon=True)

    def __enter__(self):
        self.process.start()
        self.answered.wait(5)
        return self

    def __exit__(self, *_):
        self.stop.set()
        try:
            self.waits, self.faults = self.results.get(timeout=90)
        except Exception:
            self.waits, self.faults = [90.0], ["the client itself did not answer"]
        self.process.kill()

    @property
    def longest(self):
        return max(self.waits)

    @property
    def ninety_ninth(self):
        return sorted(self.waits)[int(len(self.waits) * 0.99)]
