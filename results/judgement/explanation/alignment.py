"""Alignment of what two profiles ran: by the tree of operators first, then by name, then by what a name says; pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from results.kernel_names import decoded, stable_kernel_name
from results.product_libraries import is_product

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from results.files.stacks import FoldedStack
    from results.kernel_names import KernelName

Pairing = tuple["Piece | None", "Piece | None"]
Path = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Piece:
    """What ran at one place of a call's tree: path from the outermost frame to itself, stable names; seconds.

    name: the last of the path, as the profile has it.
    """

    path: Path
    name: str
    time_s: float

    @property
    def stable(self) -> str:
        """Name without what differs between processes."""
        return self.path[-1]


def pieces_from_stacks(stacks: Iterable[FoldedStack], ends_at: Callable[[Path], int | None]) -> list[Piece]:
    """Sum the stacks by the place at which a piece ends.

    ends_at: of frames, outermost first, the index of the frame that is the piece; None for none.
    """
    times: dict[Path, float] = defaultdict(float)
    names: dict[Path, str] = {}
    for stack in stacks:
        at = ends_at(stack.frames)
        if at is None:
            continue
        path = tuple(stable_kernel_name(frame) for frame in stack.frames[: at + 1])
        times[path] += stack.time_s
        names[path] = stack.frames[at]
    return [Piece(path=path, name=names[path], time_s=time_s) for path, time_s in times.items()]


def pieces_from_names(named: Iterable[tuple[str, float]]) -> list[Piece]:
    """Return a piece for each stable name, without callers; of pairs of name and seconds."""
    times: dict[str, float] = defaultdict(float)
    names: dict[str, str] = {}
    for name, time_s in named:
        stable = stable_kernel_name(name)
        times[stable] += time_s
        names.setdefault(stable, name)
    return [Piece(path=(stable,), name=names[stable], time_s=time_s) for stable, time_s in times.items()]


def aligned(base: Sequence[Piece], head: Sequence[Piece]) -> list[Pairing]:
    """Pair the pieces of two calls, each at most once; None beside what only one of them has.

    First what has the same path; then the same name elsewhere, the nearest in the tree; then, below the same caller,
    names that say the same work: of one kind, with the same operators and number format, and as many on both sides.
    """
    at_head = {piece.path: piece for piece in head}
    pairs: list[Pairing] = [(piece, at_head[piece.path]) for piece in base if piece.path in at_head]
    left, right = _unpaired(base, pairs, 0), _unpaired(head, pairs, 1)
    pairs += _by_name(left, right)
    left, right = _unpaired(left, pairs, 0), _unpaired(right, pairs, 1)
    pairs += _by_work(left, right)
    left, right = _unpaired(left, pairs, 0), _unpaired(right, pairs, 1)
    return [*pairs, *((piece, None) for piece in left), *((None, piece) for piece in right)]


def _unpaired(pieces: Sequence[Piece], pairs: Iterable[Pairing], side: int) -> list[Piece]:
    taken = {one.path for pair in pairs if (one := pair[side]) is not None}
    return [piece for piece in pieces if piece.path not in taken]


def _by_name(base: Sequence[Piece], head: Sequence[Piece]) -> list[Pairing]:
    """Pair equal names at other places, those with the most callers in common first."""
    of_name: dict[str, list[Piece]] = defaultdict(list)
    for piece in head:
        of_name[piece.stable].append(piece)
    near = [(_n_common(one.path, other.path), one, other) for one in base for other in of_name[one.stable]]
    near.sort(key=lambda found: (-found[0], found[1].path, found[2].path))
    pairs: list[Pairing] = []
    taken: set[tuple[int, Path]] = set()
    for _, one, other in near:
        if not {(0, one.path), (1, other.path)} & taken:
            taken |= {(0, one.path), (1, other.path)}
            pairs.append((one, other))
    return pairs


def _n_common(one: Path, other: Path) -> int:
    """Return how many callers two paths share, the innermost counted too: another wrapper around both is no move."""
    outer = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    back = zip(reversed(one), reversed(other), strict=False)
    inner = next((i for i, (a, b) in enumerate(back) if a != b), min(len(one), len(other)))
    return outer + inner


def _by_work(base: Sequence[Piece], head: Sequence[Piece]) -> list[Pairing]:
    """Pair names that say the same work, where as many of them are on both sides; the longest first."""
    groups: dict[object, tuple[list[Piece], list[Piece]]] = defaultdict(lambda: ([], []))
    for side, pieces in enumerate((base, head)):
        for piece in pieces:
            if (work := _work_of(piece)) is not None:
                groups[piece.path[:-1], work][side].append(piece)
    pairs: list[Pairing] = []
    for one, other in groups.values():
        if len(one) == len(other):
            ordered = (sorted(side, key=lambda piece: (-piece.time_s, piece.path)) for side in (one, other))
            pairs += zip(*ordered, strict=True)
    return pairs


def _work_of(piece: Piece) -> object:
    """Return what a name says of the work, which another name for it would say, too; None if it says nothing."""
    kernel = decoded(piece.name)
    if kernel.kind is not None:
        return (kernel.kind, frozenset(kernel.operators), kernel.dtype)
    namespace, _, operator = piece.stable.partition("::")
    if not operator:
        return None
    # fused_mlp::mlp and fused_mlp::mlp_onednn are one operation; of ATen's, only add and add_ are.
    beginning = operator.rstrip("_") if namespace == "aten" else operator.split("_")[0]
    return (namespace, beginning, is_product(piece.stable))


def change_of_name(base: str, head: str) -> str:
    """Return what differs between two kernels' names, in words: `tile 128x128x64 → 64x64x64`; empty if unknown."""
    one, other = decoded(base), decoded(head)
    fields: tuple[tuple[str, Callable[[KernelName], object]], ...] = (
        ("tile", lambda kernel: kernel.tile),
        ("layout", lambda kernel: kernel.layout),
        ("stages", lambda kernel: kernel.stages),
        ("epilogue", lambda kernel: kernel.epilogue),
        ("number format", lambda kernel: kernel.dtype),
        ("library", lambda kernel: kernel.author),
    )
    found = [
        f"{name} {read(one) or 'none'} → {read(other) or 'none'}" for name, read in fields if read(one) != read(other)
    ]
    return ", ".join(found)


def counts_by_name(counted: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Sum how often each stable name runs in one call."""
    found: dict[str, float] = defaultdict(float)
    for name, count in counted:
        found[stable_kernel_name(name)] += count
    return dict(found)
