"""What waits to be sent: a bounded queue that one thread empties, so that a run never waits on a receiver.

How one thing is sent, and what a failure means, belongs to the sinks that own an outbox.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition, Event, Thread
from typing import Final, Generic, TypeVar

T = TypeVar("T")

THREAD: Final = "slowwave-outbox"
"""The name of the thread that sends."""

_RUSH: Final = 0.5  # share of the closing time after which only what is vital is still sent


class Deadline:
    """How long the sending of one thing may still take: without end until the outbox closes."""

    def __init__(self, closing: Event, until: Callable[[], float]) -> None:
        self._closing = closing
        self._until = until

    def left(self) -> float | None:
        """Seconds; None while nobody closes."""
        return max(0.0, self._until() - time.monotonic()) if self._closing.is_set() else None

    def pause(self, seconds: float) -> bool:
        """Wait so long, or less when the outbox closes meanwhile; False when the time is up."""
        left = self.left()
        if left is None:
            self._closing.wait(seconds)
            return True
        time.sleep(min(seconds, left))
        return left > seconds


@dataclass(frozen=True, slots=True)
class _Letter(Generic[T]):
    content: T
    vital: bool


class Outbox(Generic[T]):
    """``send`` is called for one thing after the other, oldest first, in a thread of its own; it gives False for a loss.

    When ``most`` things wait, the oldest is dropped, ``dropped`` is called, and it counts as lost. Vital things (a run began, a
    run ended) are dropped last; when closing leaves too little time for all, the second half of it is theirs.
    """

    def __init__(
        self,
        send: Callable[[T, Deadline], bool],
        *,
        most: int = 10_000,
        dropped: Callable[[], None] = lambda: None,
    ) -> None:
        self._send = send
        self._most = most
        self._dropped = dropped
        self._waiting: deque[_Letter[T]] = deque()
        self._changed = Condition()
        self._closing = Event()
        self._rush = self._end = 0.0  # instants of time.monotonic, known once it closes
        self._worker: Thread | None = None
        self._busy = False
        self.lost = 0

    def put(self, content: T, *, vital: bool = False) -> None:
        """Leave something to be sent; never waits. After ``close`` it is lost."""
        with self._changed:
            if self._closing.is_set():
                self.lost += 1
                return
            if full := len(self._waiting) >= self._most:
                self._drop_oldest()
            self._waiting.append(_Letter(content, vital))
            if self._worker is None:
                self._worker = Thread(target=self._work, name=THREAD, daemon=True)
                self._worker.start()
            self._changed.notify()
        if full:
            self._dropped()

    def close(self, seconds: float) -> int:
        """Send what waits for at most so long; gives how many things were lost in all. Closing twice changes nothing."""
        now = time.monotonic()
        with self._changed:
            if not self._closing.is_set():
                self._rush, self._end = now + seconds * _RUSH, now + seconds
                self._closing.set()
                self._changed.notify_all()
        if self._worker is not None:
            self._worker.join(max(0.0, self._end - time.monotonic()) + 0.05)
        with self._changed:
            self.lost += len(self._waiting) + self._busy
            self._waiting.clear()
            self._busy = False
            return self.lost

    def _drop_oldest(self) -> None:
        index = next((i for i, letter in enumerate(self._waiting) if not letter.vital), 0)
        del self._waiting[index]
        self.lost += 1

    def _work(self) -> None:
        while (letter := self._next()) is not None:
            vital = letter.vital
            patience = Deadline(self._closing, lambda vital=vital: self._end if vital else self._rush)
            arrived = self._send(letter.content, patience)
            with self._changed:
                if self._busy:  # else closing has given it up
                    self._busy = False
                    self.lost += not arrived

    def _next(self) -> _Letter[T] | None:
        """The oldest thing once there is one; None when all is sent, or the time is up."""
        with self._changed:
            while not self._waiting and not self._closing.is_set():
                self._changed.wait()
            now = time.monotonic()
            if self._closing.is_set() and now >= self._rush:
                vital = [letter for letter in self._waiting if letter.vital]
                self.lost += len(self._waiting) - len(vital)
                self._waiting = deque(vital)
            if not self._waiting or (self._closing.is_set() and now >= self._end):
                return None
            self._busy = True
            return self._waiting.popleft()
