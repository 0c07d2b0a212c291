"""What is open until it is closed, at the end of its `with` block at the latest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, suppress
from types import TracebackType
from typing import TypeVar
from weakref import WeakSet

from everedge._errors import ClosedError, EveredgeError

_Open = TypeVar("_Open", bound="Closing")
_Asked = TypeVar("_Asked", bound="Asked")


class Closing(ABC):
    """A context manager that closes itself."""

    @abstractmethod
    def close(self) -> None:
        """Give up what it holds; a second time does nothing."""

    def __enter__(self: _Open) -> _Open:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
            return
        # What the block raised is what the caller learns.
        with suppress(EveredgeError):
            self.close()


class Asked(Closing):
    """What other threads may ask while it is closed: their questions are answered to the end.

    There is no lock, which a forked child could inherit from a thread of its parent: sets change as one under the GIL, and
    whoever ends a question after `close` has begun looks whether it was the last.
    """

    def __init__(self) -> None:
        self._questions: WeakSet[object] = WeakSet()
        """Those that run. One that an interrupt has lost goes with its object."""
        self._is_closing = False

    @abstractmethod
    def _give_up(self) -> None:
        """Give up what it holds; a second time does nothing."""

    def close(self) -> None:
        """Give it up; a second time does nothing. Questions that other threads ask are answered first."""
        self._is_closing = True
        if not self._questions:
            self._give_up()

    def _asking(self: _Asked) -> AbstractContextManager[_Asked]:
        """Keep it open for a question. Raises `ClosedError` after `close`."""
        return _Question(self)


class _Question(AbstractContextManager[_Asked]):
    """A question that runs."""

    def __init__(self, asked: _Asked) -> None:
        self._asked = asked

    def __enter__(self) -> _Asked:
        self._asked._questions.add(self)
        if self._asked._is_closing:
            self._end()
            raise ClosedError(f"the {type(self._asked).__name__.lower()} is closed")
        return self._asked

    def __exit__(self, *error: object) -> None:
        self._end()

    def _end(self) -> None:
        self._asked._questions.discard(self)
        if self._asked._is_closing and not self._asked._questions:
            self._asked._give_up()
