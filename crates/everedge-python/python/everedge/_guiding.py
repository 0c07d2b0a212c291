"""What notices a wrong guess: of the name of an attribute, of arguments, of what can be done with an object.

What is said then is in `_instead.py`.
"""

from __future__ import annotations

import os
import sys
from abc import ABCMeta
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

Call = TypeVar("Call", bound=Callable[..., Any])

_PACKAGE = os.path.join(os.path.dirname(__file__), "")


def not_a_path(what: str, thing: object) -> TypeError:
    """Return the error for something that is given in place of a file or a directory."""
    from everedge import _instead

    return _instead.not_a_path(what, thing)


def level_of_caller() -> int:
    """Return the level of the first caller outside of the package, as `warnings.warn` counts for who calls this."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


def guided(function: Call) -> Call:
    """Let a call that does not fit the parameters say which ones do.

    What is raised inside of the function stays as it is.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                raise
            said = str(error)
        from everedge import _instead

        raise TypeError(said + _instead.arguments(said, kwargs))

    return cast("Call", call)


def kernel(function: Call) -> Call:
    """As `guided`, of a function whose first argument is what it asks."""
    call = guided(function)

    @wraps(function)
    def asked(*args: Any, **kwargs: Any) -> Any:
        graph = args[0] if args else kwargs.get("graph")
        if (args or "graph" in kwargs) and not hasattr(graph, "_view"):
            from everedge import _instead

            raise _instead.no_graph(function.__name__, graph)
        return call(*args, **kwargs)

    return cast("Call", asked)


class GuidingType(ABCMeta):
    """The same for the names of a class."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> NoReturn:
            found = ""
            if not name.startswith("_"):
                from everedge import _instead

                found = _instead.elsewhere(cls.__name__, name)
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}{found and f'; here: {found}'}")


class Guiding:
    """Says for a name that an object has not, and for `[...]` and `len` of what has no items, what to call instead."""

    # Hidden from type checkers, which then say that there is no such name.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if not name.startswith("_"):
                from everedge import _instead

                # A property that failed raises its own error.
                if not _instead.has(type(self), name) and _instead.elsewhere(_class_of(self), name):
                    raise _instead.no_attribute(_class_of(self), name)
            # As Python says it.
            return object.__getattribute__(self, name)


class WithoutItems(Guiding):
    """What is not asked with `[...]`."""

    if not TYPE_CHECKING:

        def __getitem__(self, item: object) -> NoReturn:
            from everedge import _instead

            raise TypeError(_instead.ITEMS[_class_of(self)])


class WithoutArithmetic(Guiding):
    """What has numbers, and ids that these would lose."""

    if not TYPE_CHECKING:

        def _refused(self, other: object = None) -> Any:
            if hasattr(other, "__array__") and not isinstance(other, WithoutArithmetic):
                # An array takes it as an array, or says why it cannot.
                return NotImplemented
            kind = _class_of(self)
            raise TypeError(f"{kind} are no numbers; here: values.values are, and values.to_pandas() keeps their ids")

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refused
        __pow__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = _refused


class WithoutLength(WithoutItems):
    """What is no collection."""

    if not TYPE_CHECKING:

        def __len__(self) -> NoReturn:
            from everedge import _instead

            raise TypeError(_instead.ITEMS[_class_of(self)])

        def __bool__(self) -> bool:
            return True


def _class_of(thing: object) -> str:
    """Return the name of the public class that something is of."""
    for one in type(thing).__mro__:
        if not one.__name__.startswith("_"):
            return one.__name__
    raise AssertionError("every class has a public one before it")
