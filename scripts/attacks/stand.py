"""The server under attack, its data, and the measurements during an attack."""

import contextlib
import dataclasses
import multiprocessing
import os
import pathlib
import time

import processes
from attacks import database
from attacks.hooks import Hooks
from attacks.victim import Get, Victim
from server import Server

SDK = pathlib.Path(__file__).resolve().parents[2] / "Tests" / "NodeHostTests" / "sdk"

CODE = """
const busy = milliseconds => { const end = Date.now() + milliseconds; while (Date.now() < end); };
Parse.Cloud.define('hello', request => 'Hello');
Parse.Cloud.define('busy', request => { busy(60); return 'done'; });
Parse.Cloud.define('slow', async request => { await new Promise(done => setTimeout(done, 3000)); return 'done'; });
Parse.Cloud.afterFind('Followed', request => request.objects);
"""

# SQL of a text that compresses badly, like texts from clients.
WIDE = "string_agg(md5(n::text || m::text), '')"

ROWS = f"""
INSERT INTO "Wide" ("objectId", "createdAt", "updatedAt", "text")
SELECT 'w' || n, now(), now(), (SELECT {WIDE} FROM generate_series(1, 100) AS m) FROM generate_series(1, 10000) AS n;
INSERT INTO "Followed" SELECT * FROM "Wide";
INSERT INTO "Big" ("objectId", "createdAt", "updatedAt", "a", "b", "c", "d", "t")
SELECT 'b' || n, now() - n * interval '1 second', now(), n % 1000, n % 1001, n % 1002, n % 1003, md5(n::text)
FROM generate_series(1, {{rows}}) AS n;
INSERT INTO "Published" ("objectId", "createdAt", "updatedAt", "n", "text")
SELECT 'p' || n, now(), now(), 0, (SELECT {WIDE} FROM generate_series(1, 320000) AS m) FROM generate_series(1, 2) AS n;
INSERT INTO "Item" ("objectId", "createdAt", "updatedAt", "n") SELECT 'i' || n, now(), now(), n FROM generate_series(1, 1000) AS n;
UPDATE "_User" SET "notes" = (SELECT {WIDE} FROM generate_series(1, 560000) AS m, (SELECT 7 AS n) AS one) WHERE "username" = 'heavy';
VACUUM ANALYZE;
"""


@dataclasses.dataclass
class Result:
    quiet: float
    longest: float
    ninety_ninth: float
    megabytes: float
    faults_of_victim: list
    statuses: dict
    is_alive: bool
    # For each other client: its name, its longest wait, the additional seconds allowed, and its failures.
    beside: list = dataclasses.field(default_factory=list)
    # The status that at least one response must have, or 0 if any status is allowed.
    refusal: int = 0

    def line(self):
        answers = " ".join(f"{status}:{count}" for status, count in sorted(self.statuses.items(), key=str))
        waits = "".join(f"; {name} {wait * 1000:.0f} ms" for name, wait, *_ in self.beside)
        return (f"{self.longest * 1000:>10.0f} ms {self.ninety_ninth * 1000:>7.0f} ms {self.megabytes:>6.0f} MB  "
                f"{answers}{waits}")

    def faults(self, longest, megabytes):
        faults = []
        longest += self.quiet
        if self.longest > longest:
            faults.append(f"it waited {self.longest * 1000:.0f} ms, not {longest * 1000:.0f}")
        if self.megabytes > megabytes:
            faults.append(f"{self.megabytes:.0f} MB above idle, not {megabytes:.0f}")
        if self.faults_of_victim:
            faults.append(f"{len(self.faults_of_victim)} of its requests failed: {self.faults_of_victim[0]}")
        for name, wait, more, failures in self.beside:
            if wait > longest + more:
                faults.append(f"{name} waited {wait * 1000:.0f} ms, not {(longest + more) * 1000:.0f}")
            if failures:
                faults.append(f"{name} failed {len(failures)} times: {failures[0]}")
        if self.refusal and not self.statuses.get(self.refusal):
            faults.append(f"nothing was refused with {self.refusal}")
        if not self.is_alive:
            faults.append("the server ended")
        return faults


def _spin(stop):
    while not stop.is_set():
        sum(range(10_000))


class AttackStand:
    def __init__(self, binary, folder, cluster, rows):
        self.binary, self.folder, self.cluster, self.rows = binary, pathlib.Path(folder), cluster, rows
        app = self.folder / "app"
        (app / "node_modules").mkdir(parents=True)
        (app / "node_modules" / "parse").symlink_to(os.environ.get("PARSE_SDK", SDK))
        (app / "main.js").write_text(CODE, encoding="utf-8")
        self.options = {
            "cloud": str(app / "main.js"),
            "encryptionKey": "a key of the attacked server",
            "liveQuery": {"classNames": ["Published"]},
            "startLiveQueryServer": True,
            "fileUpload": {"enableForPublic": True},
            "verbose": False,
        }
        with self.server() as server:
            self._seed(server)

    def server(self, **options):
        """Returns the server under attack, a context manager. `options` are added to its configuration."""
        return Server(self.binary, self.folder, self.cluster.uri(), options={**self.options, **options})

    def _seed(self, server):
        def make(name, **fields):
            fields = {field: {"type": kind} for field, kind in fields.items()}
            server.call("POST", f"/schemas/{name}", {"className": name, "fields": fields}, master=True)

        make("Wide", text="String")
        make("Followed", text="String")
        make("Big", a="Number", b="Number", c="Number", d="Number", t="String")
        make("Published", n="Number", text="String")
        make("Item", n="Number", text="String")
        make("Hooked", n="Number", text="String")
        for name, fields in database.SCHEMA.items():
            make(name, **fields)
        server.call("PUT", "/schemas/_User", {"fields": {"notes": {"type": "String"}}}, master=True)
        user = {"username": "heavy", "password": "benchmark"}
        self.token = server.call("POST", "/users", user)["sessionToken"]
        self.cluster.sql(database.ROWS + ROWS.format(rows=self.rows))
        song = os.urandom(19 * 1024 * 1024)
        url = server.call("POST", "/files/song.mp3", song, content_type="audio/mpeg", master=True)["url"]
        self.file_path = url.split("/parse", 1)[1]

    def wait_beside_busy_processors(self):
        """Returns the longest wait of a get in seconds while every processor is busy."""
        stop = multiprocessing.Event()
        spinning = [multiprocessing.Process(target=_spin, args=(stop,), daemon=True) for _ in range(os.cpu_count())]
        with self.server() as server:
            for process in spinning:
                process.start()
            with Victim(Get, server.port) as victim:
                time.sleep(3)
            stop.set()
            for process in spinning:
                process.join()
        return victim.longest

    def _settle(self, server):
        """Waits until little more than the client beside the attack has been served for 0.3 seconds, at most a second."""
        def used():
            return sum(map(processes.cpu_seconds_with_children, (server.pid, self.cluster.pid)))

        quiet, end = 0, time.monotonic() + 1
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            while quiet < 2 and time.monotonic() < end:
                before = used()
                time.sleep(0.15)
                quiet = quiet + 1 if used() - before < 0.075 else 0

    def attack(self, attack, senders):
        """Runs an attack against a new server, and measures the waiting times of other clients meanwhile."""
        with self.server(transferMemory=f"{attack.transfers}mb") as server, Hooks() as hooks:
            if attack.uses_hooks:
                hook = {"className": "Hooked", "triggerName": "beforeSave", "url": hooks.url(server.port)}
                server.call("POST", "/hooks/triggers", hook, master=True)
            with Victim(attack.victim, server.port) as quiet:
                time.sleep(1)
            idle = processes.resident_megabytes(server.pid)
            processes.forget_peak(server.pid)
            with Victim(attack.victim, server.port) as victim, contextlib.ExitStack() as others:
                beside = {kind: others.enter_context(Victim(kind, server.port)) for kind in attack.beside}
                context = multiprocessing.get_context("fork")
                outcome = context.Queue()
                process = context.Process(
                    target=lambda: outcome.put(attack.send(self, server.port, senders)), daemon=True)
                process.start()
                statuses = outcome.get(timeout=120)
                process.join(10)
                self._settle(server)
            is_alive = server.process.poll() is None
            peak = processes.peak_megabytes(server.pid) if is_alive else 0
            if attack.uses_hooks and is_alive:
                server.call("PUT", "/hooks/triggers/Hooked/beforeSave", {"__op": "Delete"}, master=True)
        waits = [
            (kind.__name__, client.longest, attack.beside[kind], client.faults) for kind, client in beside.items()]
        return Result(
            quiet.longest, victim.longest, victim.ninety_ninth, peak - idle, victim.faults, statuses, is_alive, waits,
            attack.refusal)
