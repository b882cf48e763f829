"""The setup shared by all measurements: binary, cluster with data, and durations."""

import os
import pathlib

from seed import seed
from server import Server


class Stand:
    def __init__(self, binary, folder, cluster, seconds):
        self.binary, self.folder, self.cluster, self.seconds = binary, pathlib.Path(folder), cluster, seconds
        with self.server():
            pass  # Installs tables and functions, so that the next start finds a prepared database.
        self.file = os.urandom(1024 * 1024)
        with self.server() as server:
            self.tokens, self.file_path = seed(server, cluster, self.file)

    def server(self, database="postgres", environment=None, options=None, app=None):
        """Returns a Roost server on a database of the cluster, for a `with` block."""
        return Server(self.binary, self.folder, self.cluster.uri(database), environment, options, app)

    def prepare(self, operation):
        """Creates equal conditions for writes: no earlier rows, and no checkpoint in progress."""
        if operation.writes:
            self.cluster.sql('TRUNCATE "NewGame"; VACUUM "Game"; CHECKPOINT;')
