"""What a program learns of its surroundings: who it is, and when it is to end."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nodes.config import NodeConfig
from nodes.config_file import ConfigError, load_config

CONFIG_VARIABLE = "CBN_NODE"
"""The environment's variable that names the client's configuration."""


def configuration() -> NodeConfig:
    """The configuration that the environment names.

    Raises:
        ConfigError: It names no file, or it is none.
    """
    path = os.environ.get(CONFIG_VARIABLE)
    if not path:
        raise ConfigError(
            f"{CONFIG_VARIABLE} is not set: it names the file with who this client is; "
            "a run sets it for a program (`run:` of a client in a scenario)"
        )
    return load_config(path)


def sigterm_is_free() -> bool:
    """Whether nobody has said what SIGTERM is to do, and we may."""
    main = threading.current_thread() is threading.main_thread()
    return main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@asynccontextmanager
async def left_on_sigterm() -> AsyncIterator[None]:
    """Leave the block when SIGTERM comes, as if at its end; unless SIGTERM does something else already."""
    if not sigterm_is_free():
        yield
        return
    task, asked = asyncio.current_task(), False
    assert task is not None

    def leave() -> None:
        nonlocal asked
        asked = True
        task.cancel()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, leave)
    try:
        yield
    except asyncio.CancelledError:
        if not asked or task.uncancel() > 0:
            raise
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
