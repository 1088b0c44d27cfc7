"""Logs as lines of JSON: which route, who, how it ended; no path, value, SQL, token or answer."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

__all__ = ["log_event", "log_failure", "set_up_logs"]

_LOG = logging.getLogger("quaestor.service")


class _JsonLines(logging.Formatter):
    """One object a line. What other libraries say is cut to their name and level."""

    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
        }
        if record.name == _LOG.name:
            said |= {"event": record.getMessage(), **getattr(record, "facts", {})}
        elif record.levelno < logging.WARNING:
            said |= {"event": "server", "words": record.getMessage()}
        else:  # it may repeat what somebody has sent
            said |= {"event": "server", "logger": record.name}
        return json.dumps(said, ensure_ascii=True)


def set_up_logs() -> dict[str, Any]:
    """The configuration of all logs, for uvicorn."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": _JsonLines}},
        "handlers": {
            "lines": {
                "class": "logging.StreamHandler",
                "formatter": "lines",
                "stream": "ext://sys.stderr",  # its name: other processes are sent this
            }
        },
        "loggers": {
            name: {"handlers": ["lines"], "level": level, "propagate": False}
            for name, level in (
                (_LOG.name, "INFO"),
                ("uvicorn", "WARNING"),
                ("uvicorn.error", "WARNING"),
                ("uvicorn.access", "CRITICAL"),
                ("asyncio", "CRITICAL"),
            )
        },
    }


def log_event(event: str, **facts: Any) -> None:
    """Write one line."""
    _LOG.info(event, extra={"facts": facts})


def log_failure(event: str, problem: BaseException, **facts: Any) -> None:
    """Write where something went wrong and of which kind it is, and nothing of what it says."""
    trace, place = problem.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        place = f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    facts |= {"kind": type(problem).__name__, "place": place}
    _LOG.error(event, extra={"facts": facts})
