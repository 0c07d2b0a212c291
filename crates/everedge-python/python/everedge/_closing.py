"""What is open until it is closed, at the end of its `with` block at the latest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from types import TracebackType
from typing import TypeVar

from everedge._errors import EveredgeError

_Open = TypeVar("_Open", bound="Closing")


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
