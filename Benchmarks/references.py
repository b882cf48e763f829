"""The references of operations, each measured right before its operation."""

import contextlib

import hashes
import load
import neighbours
import pgbench

# More clients don't make PostgreSQL faster on a machine with few cores.
MOST_CLIENTS = 8


class References:
    """Runs the reference servers inside a `with` block."""

    def __init__(self, stand):
        self.stand = stand
        self._stack = contextlib.ExitStack()
        self._neighbours = {}

    def __enter__(self):
        for name, neighbour in (
            ("bare", neighbours.bare()),
            ("nginx", neighbours.nginx(self.stand.folder, self.stand.file)),
        ):
            if neighbour:
                self._neighbours[name] = self._stack.enter_context(neighbour)
            else:
                print(f"bench: {name} for comparison is missing. Run scripts/bench.sh, which builds it", flush=True)
        return self

    def __exit__(self, *_):
        self._stack.close()

    def measure(self, server, operation, connections, seconds):
        """Returns the reference rate of an operation per second, or None if it has no reference."""
        if operation.reference == "crypt":
            return hashes.hashes_a_second(seconds)
        if operation.reference == "pgbench":
            return self._pgbench(operation, min(connections, MOST_CLIENTS), seconds)
        if operation.reference == "health":
            return load.rate(server.origin, "health", connections, seconds)
        neighbour = self._neighbours.get(operation.reference)
        return self._wrk(neighbour, operation, connections, seconds) if neighbour else None

    def _wrk(self, neighbour, operation, connections, seconds):
        sample = load.wrk(neighbour.origin + "/song.mp3", operation.name, connections, seconds)
        if sample["errors"] or sample["length"] < operation.length:
            raise SystemExit(f"bench: {operation.reference} returned a wrong response to {operation.name}: {sample}")
        return sample["rate"]

    def _pgbench(self, operation, clients, seconds):
        self.stand.prepare(operation)
        return pgbench.transactions_a_second(
            self.stand.cluster, operation.name, operation.script, clients, seconds, self.stand.folder
        )
