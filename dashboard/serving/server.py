"""Server of the dashboard: a few threads of one process, with bounds on what one client may take."""

from __future__ import annotations

import gc
import signal
from typing import TYPE_CHECKING

from waitress.server import create_server

from dashboard.serving.garbage import CollectedInSilence
from dashboard.serving.payloads import MOST_BYTES

if TYPE_CHECKING:
    import socket
    from types import FrameType

    from flask import Flask

N_THREADS = 8
MOST_CONNECTIONS = 500
SILENCE_S = 60


def serve(server: Flask, *, listener: socket.socket, n_threads: int = N_THREADS) -> None:
    """Serve at a bound socket until Ctrl-C or SIGTERM; bodies of more than MOST_BYTES are answered with 413."""
    signal.signal(signal.SIGTERM, _interrupt)
    answering = CollectedInSilence(server)
    created = create_server(
        answering,
        sockets=[listener],
        threads=n_threads,
        connection_limit=MOST_CONNECTIONS,
        channel_timeout=SILENCE_S,
        max_request_body_size=MOST_BYTES,
        max_request_header_size=64 << 10,
        ident="fusebench",
        # A proxy's headers are believed by nobody, but show that there is one: behind it, nobody may write.
        clear_untrusted_proxy_headers=False,
    )
    # What is loaded lives as long as the server: looking through it again took a third of an answer's time.
    gc.collect()
    gc.freeze()
    try:
        with answering.collecting():
            created.run()
    finally:
        created.close()


def _interrupt(signum: int, frame: FrameType | None) -> None:
    """Exit as at Ctrl-C, so that a temporary database is removed."""
    del signum, frame
    raise KeyboardInterrupt
