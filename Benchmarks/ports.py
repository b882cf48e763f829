"""Free ports."""

import socket


def free_port():
    """Returns a port of 127.0.0.1 that isn't in use."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
