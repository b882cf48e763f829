"""What all measurements stand on: the binary, the cluster with its data, and how long to measure."""

import os
import pathlib

from seed import seed
from server import Server


class Stand:
    def __init__(self, binary, folder, cluster, seconds):
        self.binary, self.folder, self.cluster, self.seconds = binary, pathlib.Path(folder), cluster, seconds
        with self.server():
            pass  # Installs tables and functions, so that the next start finds a database that is ready.
        self.file = os.urandom(1024 * 1024)
        with self.server() as server:
            self.tokens, self.file_path = seed(server, cluster, self.file)

    def server(self, database="postgres", environment=None, options=None):
        """Roost on a database of the cluster, to be entered with `with`."""
        return Server(self.binary, self.folder, self.cluster.uri(database), environment, options)

    def prepare(self, operation):
        """Equal conditions for whatever writes: no rows of before, no checkpoint under way."""
        if operation.writes:
            self.cluster.sql('TRUNCATE "NewGame"; VACUUM "Game"; CHECKPOINT;')
