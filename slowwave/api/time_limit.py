"""How long somebody lets a run go on: it is cancelled when its time is up, or as soon as it begins after that."""

from __future__ import annotations

from threading import Timer

from slowwave.errors import Refused
from slowwave.runs.control import request_cancel
from slowwave.store.connect import Store


class TimeLimit:
    """Cancels whatever run is under way after ``seconds``, or never; ``fired`` says that it did. Begins to count when it is made."""

    def __init__(self, store: Store, seconds: float | None) -> None:
        self.seconds, self.run_id, self.fired = seconds, "", False
        self._store, self._is_up = store, False
        self._timer = None if seconds is None else Timer(seconds, self._up)
        if self._timer:
            self._timer.daemon = True
            self._timer.start()

    def applies_to(self, run_id: str) -> None:
        """The run that goes on now; told again at any step of it. One that began after the time was up is cancelled at once."""
        self.run_id = run_id
        if self._is_up and not self.fired:
            self._cancel()

    def stop(self) -> None:
        """Nothing more is cancelled."""
        if self._timer:
            self._timer.cancel()

    def _up(self) -> None:
        self._is_up = True  # before the id is read, as that is written before this is: one of the two sees the other
        if self.run_id:
            self._cancel()

    def _cancel(self) -> None:
        try:
            request_cancel(self._store, self.run_id)
            self.fired = True
        except Refused:  # it has ended at this moment; the next one is told to ``applies_to``
            pass
