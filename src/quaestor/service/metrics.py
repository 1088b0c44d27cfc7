"""Figures for Prometheus: requests by route and status, and nothing of single questions."""

from __future__ import annotations

import threading
import time
from collections import Counter

__all__ = ["RequestCounts"]


class RequestCounts:
    """What was counted since the process began."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._lock, self._began = threading.Lock(), time.time()
        self._requests: Counter[tuple[str, str, int]] = Counter()

    def note(self, method: str, route: str, status: int) -> None:
        """Count one request."""
        with self._lock:
            self._requests[method, route, status] += 1

    def text(self, *, under_way: int) -> str:
        """Everything, as Prometheus reads it."""
        with self._lock:
            counted = sorted(self._requests.items())
        lines = [
            "# HELP quaestor_requests_total Requests by route and status.",
            "# TYPE quaestor_requests_total counter",
            *(
                f'quaestor_requests_total{{method="{_escaped(method)}",route="{_escaped(route)}",'
                f'status="{status}"}} {count}'
                for (method, route, status), count in counted
            ),
            "# HELP quaestor_jobs_under_way Questions that this process works on.",
            "# TYPE quaestor_jobs_under_way gauge",
            f"quaestor_jobs_under_way {under_way}",
            "# HELP quaestor_start_time_seconds When the process began.",
            "# TYPE quaestor_start_time_seconds gauge",
            f"quaestor_start_time_seconds {self._began:.0f}",
        ]
        return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
