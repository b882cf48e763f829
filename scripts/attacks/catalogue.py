"""The attacks by name. Each sends requests that need only the application id, no other key."""

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
    """`send` takes the stand, the port and the number of senders, and returns the number of responses by status."""

    send: typing.Callable
    uses_hooks: bool = False
    # The measured client.
    victim: type = Get
    # The kinds of other clients, with the seconds that each of their requests may take more than a get.
    beside: dict = dataclasses.field(default_factory=dict)
    # The error status that the server must return at least once, or 0 if it may accept all requests.
    refusal: int = 0
    # The megabytes that the options allow one body or response to take, as bytes and as values. A request that
    # exceeds the shared limits runs alone, but isn't split.
    allowed: int = 0
    # The option `transferMemory` in megabytes: the limit for unread responses and incomplete bodies.
    transfers: int = 32
    # The seconds that the measured client may wait longer than without the attack.
    longer: float = 0.050


def wave(make, count, **settings):
    """Returns an attack that sends `count` requests at once. `make` creates the request from the stand."""
    return lambda stand, port, senders: Wave(port, spread(make(stand), count, senders), **settings).run()


def find(class_name, **query):
    """Returns a find with its condition in the body, as SDKs send it, because the condition may be long."""
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
    """Returns an upload that the server encrypts as a whole, as parse-server's adapters do. Its bytes don't compress."""
    song = random.Random(19).randbytes(SONG * 1024 * 1024)
    return request("POST", "/files/song.mp3", song, {"Content-Type": "audio/mpeg"})


def upload_in_base64(_):
    """Returns an upload as the JavaScript SDK sends it."""
    song = base64.b64encode(random.Random(14).randbytes(14 * 1024 * 1024)).decode()
    body = {"base64": song, "_ContentType": "audio/mpeg", "_ApplicationId": APPLICATION_ID}
    return request("POST", "/files/song.mp3", body, {"X-Parse-Application-Id": "", "Content-Type": "text/plain"})


def long_query(_):
    password = "".join(random.Random(7).choices(string.ascii_letters, k=32 * 1024))
    return request("GET", "/login", query={"username": "nobody", "password": password})


# The size of uploads in megabytes, which maxUploadSize allows.
SONG = 19
ENCRYPTIONS = 48
# The megabytes that maxResponseSize allows: for the response of one find, and for those of a batch until it is aborted.
FIND = 33
BATCH = 64
# The sizes in megabytes of the heavy user's record and of the results that finds pass to triggers, and the numbers of
# copies during a call of cloud code. The server holds a PostgreSQL message, rows, a text, values and a frame. Node.js
# holds bytes, a text and values. Results also return from Node.js as a text and bytes.
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
    # maxUploadSize allows bodies of this size. Each becomes a text, a frame for Node.js, and a response.
    "a call of 19 MB": Attack(wave(call("hello", text="x" * (19 * 1024 * 1024)), 2), allowed=2 * 19 * 4),
    # Node.js parses the record once. Other calls wait meanwhile.
    "calls of a heavy user": Attack(
        wave(heavy_call, 24, seconds=15), allowed=RECORD * (FORMS + NODE_FORMS), beside={Call: 0.25}),
    "changes of a large object": Attack(
        wave(lambda _: request("PUT", "/classes/Published/p1", {"n": 1}), 48, seconds=15)),
    "own records": Attack(wave(own_record, 24, seconds=15), allowed=RECORD),
    "log-ins of a heavy user": Attack(
        wave(lambda _: request("POST", "/login", {"username": "heavy", "password": "benchmark"}), 24, seconds=15),
        allowed=RECORD),
    "downloads": Attack(wave(download, 200, reads=False, seconds=6)),
    # In addition to uploads that wait for encryption, running encryptions take this much memory.
    "uploads": Attack(wave(upload, 32, seconds=20), transfers=256, allowed=ENCRYPTIONS),
    # Two are read at a time, each as a text and as bytes of three quarters of its size.
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

# Shared limits are divided differently among few networks, so --quick also runs these attacks with 1 and 4 senders.
BY_FEW_SENDERS = {
    "large finds, one byte read", "first reads of large objects", "pings", "handshakes", "unknown messages",
    "unfinished messages", "pipelined missing", "slow exclusions", "transactions on long lists", "small bodies",
    "requests behind slow ones", "small answers, unread", "chunks of a byte", "empty objects", "huge bodies",
    "finds of ever new texts", "calls of a heavy user", "new fields",
}
