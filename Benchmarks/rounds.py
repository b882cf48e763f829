"""Measures all operations in rounds, each next to its reference."""

import statistics

import load
from references import References

ROWS_OF_A_REQUEST = {"create": 1, "batch": 50}


class Measured:
    """The measurements of one operation at one number of connections, in all rounds."""

    def __init__(self, operation, connections):
        self.operation, self.connections = operation, connections
        self.samples, self.references = [], []

    def median(self, key):
        return statistics.median(sample[key] for sample in self.samples)

    @property
    def reference(self):
        """The median of the references, or None."""
        return statistics.median(self.references) if self.references else None

    @property
    def ratio(self):
        """The median of the rounds' ratios, because the machine's speed changes between rounds."""
        if not self.references:
            return None
        return statistics.median(sample["rate"] / rate for sample, rate in zip(self.samples, self.references))


def _check(stand, operation, sample):
    """Fails for responses that are too short. A batch returns 200 even if its calls fail, so its rows are counted."""
    good = sample["requests"] - sample["errors"]
    if not sample["errors"] and sample["length"] < operation.length:
        raise SystemExit(f"bench: responses of {operation.name} have {sample['length']:.0f} bytes: something is missing")
    expected = ROWS_OF_A_REQUEST.get(operation.name)
    if expected:
        rows = int(stand.cluster.sql('SELECT count(*) FROM "NewGame"'))
        if rows < good * expected:
            raise SystemExit(f"bench: {operation.name} succeeded {good} times but created {rows} rows")


def run(stand, server, operations, counts, rounds):
    """Measures all operations at all numbers of connections, and returns a list of `Measured`."""
    table = {
        (operation.name, connections): Measured(operation, connections)
        for operation in operations for connections in counts
    }
    with References(stand) as references:
        for number in range(1, rounds + 1):
            for operation in operations:
                title = f"round {number}"
                if operation.logs:
                    _run_operation(stand, server, operation, counts, references, table, title)
                else:
                    with stand.server(options={"logLevel": "warn"}) as quiet:
                        _run_operation(stand, quiet, operation, counts, references, table, title)
    return list(table.values())


def _run_operation(stand, server, operation, counts, references, table, title):
    path = stand.file_path if operation.reference == "nginx" else "/"
    seconds = max(stand.seconds, operation.shortest)
    load.settle(server, stand.cluster)
    # Many clients of a slow operation would leave more work than `settle` waits for.
    warm_up = counts[0] if operation.shortest > 1 else counts[-1]
    load.wrk(server.origin + path, operation.name, warm_up, 1, stand.tokens)
    for connections in counts:
        reference = references.measure(server, operation, connections, seconds)
        stand.prepare(operation)
        measured = table[operation.name, connections]
        sample = load.measure(server, stand.cluster, operation.name, connections, seconds, stand.tokens, path)
        _check(stand, operation, sample)
        measured.samples.append(sample)
        if reference:
            measured.references.append(reference)
        print(
            f"{title}  {operation.title:60} {connections:4} connections {sample['rate']:10,.1f}/s"
            f"  p99 {sample['p99']:8.2f} ms  errors {sample['errors']}"
            + (f"  {operation.reference} {reference:,.1f}/s" if reference else ""),
            flush=True,
        )
