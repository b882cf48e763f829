"""The attacks by name: each sends what a client may send without any key but the application's id."""

import base64
import dataclasses
import random
import string
import typing

from attacks import database
from attacks.sending import APPLICATION_ID, Wave, request, spread
from attacks.sockets import subscribe_with_patterns
from attacks.victim import Call, Event, Get, Save, SaveLittle
from attacks.wire import attacks as attacks_on_the_wire


@dataclasses.dataclass
class Attack:
    """`send` takes the stand, the port and the number of senders, and gives how many answers had which status."""

    send: typing.Callable
    uses_hooks: bool = False
    # What the client beside it does.
    victim: type = Get
    # What other clients do beside it, and how many seconds more than a get each of these requests may take.
    beside: dict = dataclasses.field(default_factory=dict)
    # The status of refusals, where an attack is one that must be refused.
    refusal: int = 0
    # How many megabytes one body or one answer of its own may take by the options, before and while it is values: it is
    # carried out alone, but no option splits it.
    allowed: int = 0
    # The option `transferMemory` in megabytes: what answers that are not read, and bodies that are not whole, may take.
    transfers: int = 32
    # How many seconds longer the client beside it may wait than without it.
    longer: float = 0.050


def wave(make, count, **settings):
    """An attack of so many requests at once, which `make` makes from the stand."""
    return lambda stand, port, senders: Wave(port, spread(make(stand), count, senders), **settings).run()


def find(class_name, **query):
    """A find whose condition may be long: it goes in the body, as SDKs send it."""
    return request("POST", f"/classes/{class_name}", {"_method": "GET", **query})


def large_find(_):
    return request("GET", "/classes/Wide", query={"limit": "100000"})


def batch_of_finds(_):
    call = {"method": "GET", "path": "/parse/classes/Wide", "body": {"limit": 100000}}
    return request("POST", "/batch", {"requests": [call] * 8})


def unindexed_sort(_):
    return find("Big", order="-t,a", limit=1, skip=1000)


def long_exclusion(_):
    return find("Big", where={"t": {"$nin": [f"none{number}" for number in range(50_000)]}}, limit=1, order="t")


def many_alternatives(_):
    return find("Big", where={"$or": [{"t": f"none{number}"} for number in range(4_900)]}, limit=1)


def unindexed_equality(_):
    return find("Big", where={"a": -1, "t": "nothing"}, limit=1)


def call(name, **body):
    return lambda _: request("POST", f"/functions/{name}", body)


def heavy_call(stand):
    return request("POST", "/functions/hello", {}, {"X-Parse-Session-Token": stand.token})


def own_record(stand):
    return request("GET", "/users/me", headers={"X-Parse-Session-Token": stand.token})


def download(stand):
    return request("GET", stand.file_path)


def first_byte(stand):
    return request("GET", stand.file_path, headers={"Range": "bytes=0-0"})


def upload(_):
    """A file that the server encrypts whole, as parse-server's adapters do; its bytes do not compress."""
    song = random.Random(19).randbytes(SONG * 1024 * 1024)
    return request("POST", "/files/song.mp3", song, {"Content-Type": "audio/mpeg"})


def upload_in_base64(_):
    """A file as the JavaScript SDK sends it."""
    song = base64.b64encode(random.Random(14).randbytes(14 * 1024 * 1024)).decode()
    body = {"base64": song, "_ContentType": "audio/mpeg", "_ApplicationId": APPLICATION_ID}
    return request("POST", "/files/song.mp3", body, {"X-Parse-Application-Id": "", "Content-Type": "text/plain"})


def long_query(_):
    password = "".join(random.Random(7).choices(string.ascii_letters, k=32 * 1024))
    return request("GET", "/login", query={"username": "nobody", "password": password})


# maxUploadSize lets a file be so large.
SONG = 19
ENCRYPTIONS = 48
# maxResponseSize lets one answer be so large: that of one find here, and what a batch collects before it is too much.
FIND = 33
BATCH = 64
# The record of the heavy user, what clients' finds hand to triggers, and how often either is there while cloud code is
# called: as a message of PostgreSQL's, rows, a text, values, and a frame. Either is in Node.js besides as bytes, a text
# and values; what clients find goes back from there as a text and bytes.
RECORD = 18
TRIGGERED = 8
FORMS = 5
NODE_FORMS = 3


ATTACKS = {
    "large finds, unread": Attack(wave(large_find, 300, reads=False, seconds=6), allowed=FIND),
    "batches of large finds": Attack(wave(batch_of_finds, 8, reads=False, seconds=6), allowed=BATCH),
    "sorts, sender gone": Attack(wave(unindexed_sort, 64, leaves_after=1)),
    "long exclusions": Attack(wave(long_exclusion, 32, seconds=10)),
    "many alternatives": Attack(wave(many_alternatives, 8, seconds=10)),
    "unindexed equalities": Attack(wave(unindexed_equality, 4)),
    "busy functions": Attack(wave(call("busy"), 256, seconds=20)),
    "busy functions, a caller": Attack(wave(call("slow"), 600, seconds=8), victim=Call),
    "finds with afterFind": Attack(
        wave(lambda _: request("GET", "/classes/Followed", query={"limit": "100000"}), 5), allowed=FIND),
    "finds that afterFind may see": Attack(
        wave(lambda _: request("GET", "/classes/Followed", query={"limit": "2000"}), 32, seconds=15),
        allowed=TRIGGERED * (FORMS + NODE_FORMS + 2)),
    # maxUploadSize lets each body be so large; it becomes a text, a frame for Node.js, and an answer.
    "a call of 19 MB": Attack(wave(call("hello", text="x" * (19 * 1024 * 1024)), 2), allowed=2 * 19 * 4),
    "calls of a heavy user": Attack(wave(heavy_call, 24, seconds=15), allowed=RECORD * (FORMS + NODE_FORMS)),
    "changes of a large object": Attack(
        wave(lambda _: request("PUT", "/classes/Published/p1", {"n": 1}), 48, seconds=15)),
    "own records": Attack(wave(own_record, 24, seconds=15), allowed=RECORD),
    "log-ins of a heavy user": Attack(
        wave(lambda _: request("POST", "/login", {"username": "heavy", "password": "benchmark"}), 24, seconds=15),
        allowed=RECORD),
    "downloads": Attack(wave(download, 200, reads=False, seconds=6)),
    # Beside what waits to be encrypted, encryptions take so much at a time.
    "uploads": Attack(wave(upload, 32, seconds=20), transfers=256, allowed=ENCRYPTIONS),
    # Two are read at a time: each is a text, and bytes of three quarters of it.
    "uploads in base64": Attack(
        wave(upload_in_base64, 32, seconds=20), transfers=256, allowed=ENCRYPTIONS + 2 * (SONG + 15)),
    "first bytes of downloads": Attack(wave(first_byte, 200, seconds=10)),
    "large calls of slow code": Attack(wave(call("slow", text="x" * 1_100_000), 4, seconds=8), victim=Save),
    "saves whose webhook saves": Attack(
        wave(lambda _: request("POST", "/classes/Hooked", {"text": "x" * 20_000}), 32, seconds=10), uses_hooks=True,
        victim=Save),
    "long queries": Attack(wave(long_query, 1000, seconds=10)),
    "patterns in live queries": Attack(subscribe_with_patterns, victim=Event),
    **attacks_on_the_wire(Attack, Save, SaveLittle),
    **database.attacks(Attack),
}

# What networks share is divided differently among few of them: --quick makes these attacks by 1 and 4 senders, too.
BY_FEW_SENDERS = {
    "large finds, one byte read", "pings", "unknown messages", "unfinished messages", "pipelined missing",
    "slow exclusions", "transactions on long lists", "small bodies", "requests behind slow ones",
    "small answers, unread", "chunks of a byte", "empty objects", "huge bodies", "finds of ever new texts",
    "calls of a heavy user", "new fields",
}
