"""A list of strings that costs about as much memory as their text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK = 4096
_SEPARATOR = "\x00"


class Labels(Sequence[str]):
    """Append-only; ten million revisions take their letters and not ten million objects.

    Full blocks are kept joined and are split again when one of their strings is asked for, which happens for
    the few revisions that are printed. A label holds no NUL (the readers refuse it).
    """

    __slots__ = ("_joined", "_open", "_split")

    def __init__(self, labels: Sequence[str] = ()) -> None:
        self._joined: list[bytes] = []
        self._open: list[str] = []
        self._split: tuple[int, list[str]] = (-1, [])
        self.extend(labels)

    def append(self, label: str) -> None:
        """Add one at the end."""
        self._open.append(label)
        if len(self._open) == _BLOCK:
            self._join()

    def extend(self, labels: Sequence[str]) -> None:
        """Add several at the end."""
        self._open += labels
        while len(self._open) >= _BLOCK:
            self._join()

    def _join(self) -> None:
        full, self._open = self._open[:_BLOCK], self._open[_BLOCK:]
        self._joined.append(_SEPARATOR.join(full).encode("utf-8", "surrogatepass"))

    def __iter__(self) -> Iterator[str]:
        for number in range(len(self._joined)):
            yield from self._block(number)
        yield from self._open

    def __len__(self) -> int:
        return len(self._joined) * _BLOCK + len(self._open)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        """By position, negative ones too.

        Raises:
            IndexError: there is no such position.
        """
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        block, offset = divmod(place, _BLOCK)
        return self._open[offset] if block == len(self._joined) else self._block(block)[offset]

    def _block(self, number: int) -> list[str]:
        if self._split[0] != number:
            text = self._joined[number].decode("utf-8", "surrogatepass")
            self._split = (number, text.split(_SEPARATOR))
        return self._split[1]
