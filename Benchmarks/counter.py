"""Compiles the allocation counter, preloads it into Roost, and reads it during a run."""

import contextlib
import dataclasses
import mmap
import pathlib
import struct
import subprocess

SOURCE = pathlib.Path(__file__).with_name("allocations") / "counter.c"

# The same values as in counter.c.
HEADER = 64 * 8
RECORDING, RECORDED = 3 * 8, 4 * 8
SAMPLES, SAMPLE = 65536, 64 * 8


@dataclasses.dataclass(frozen=True)
class Counts:
    allocations: int
    bytes: int
    frees: int

    def __sub__(self, other):
        return Counts(self.allocations - other.allocations, self.bytes - other.bytes, self.frees - other.frees)


class Counter:
    """The counters of one process. Start the process with `environment`."""

    def __init__(self, folder):
        library, shared = pathlib.Path(folder) / "counter.so", pathlib.Path(folder) / "counters"
        subprocess.run(
            ["cc", "-std=c11", "-O2", "-Wall", "-Werror", "-fno-builtin", "-shared", "-fPIC", SOURCE, "-o", library],
            check=True,
        )
        with open(shared, "w+b") as file:
            file.truncate(HEADER + SAMPLES * SAMPLE)
            self._memory = mmap.mmap(file.fileno(), 0)
        self.environment = {"LD_PRELOAD": str(library), "ROOST_ALLOCATIONS": str(shared)}

    def read(self):
        return Counts(*struct.unpack_from("=3Q", self._memory))

    @contextlib.contextmanager
    def recording(self):
        """Records allocations with their stacks inside a `with` block, at most SAMPLES of them."""
        struct.pack_into("=2Q", self._memory, RECORDING, 1, 0)
        yield
        struct.pack_into("=Q", self._memory, RECORDING, 0)

    def samples(self):
        """Returns the last recording: the requested bytes and the stack's addresses, innermost first."""
        (recorded,) = struct.unpack_from("=Q", self._memory, RECORDED)
        for index in range(min(recorded, SAMPLES)):
            place = HEADER + index * SAMPLE
            size, depth = struct.unpack_from("=2Q", self._memory, place)
            yield size, struct.unpack_from(f"={depth}Q", self._memory, place + 16)
