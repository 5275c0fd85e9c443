"""Where the nodes of a drawing stand: stress majorization, the same picture every time.

Distances on paper follow distances in the graph (Gansner, Koren and North,
"Graph Drawing by Stress Majorization", 2004). Nothing here draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

Edge = tuple[int, int, float]
"""Positions of the two ends among the nodes, and the length wanted."""
Points = npt.NDArray[np.float64]

_ROUNDS = 300
_SETTLED = 1e-5
_PUSHES = 60


def layout(size: int, edges: Sequence[Edge]) -> Points:
    """A place in the plane for each of `size` nodes, centred, the wider way across."""
    if size < 3:
        return np.column_stack([np.arange(size, dtype=np.float64) - (size - 1) / 2, np.zeros(size)])
    wanted = _distances(size, edges)
    return _turned(_majorize(_first_guess(wanted), wanted))


def fitted(points: Points, width: float, height: float, margin: float) -> Points:
    """The points moved and scaled, alike in both directions, into a frame."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.array([width, height]) - 2 * margin
    scale = (room / np.maximum(high - low, 1e-9)).min()
    return np.asarray((points - (low + high) / 2) * scale + np.array([width, height]) / 2)


def moved_apart(points: Points, rooms: Points) -> Points:
    """The points moved as little as need be, so that their boxes do not overlap, as far as that can be.

    Args:
        points: the middles of the boxes.
        rooms: half the width and height of each.
    """
    points = points.copy()
    for _ in range(_PUSHES):
        away = points[:, None] - points[None]
        lacking = rooms[:, None] + rooms[None] - np.abs(away)
        lacking[np.arange(len(points)), np.arange(len(points))] = 0.0
        overlaps = np.asarray((lacking > 0).all(axis=2))
        if not overlaps.any():
            break
        down = lacking[..., 1] <= lacking[..., 0]
        push = np.where(np.stack([~down, down], axis=2) & overlaps[..., None], lacking, 0.0)
        order = np.sign(np.arange(len(points))[:, None] - np.arange(len(points))[None])
        towards = np.where(away == 0, order[..., None], np.sign(away))
        points += (0.55 * push * towards).sum(axis=1)
    return points


def _distances(size: int, edges: Sequence[Edge]) -> Points:
    found = np.full((size, size), np.inf)
    np.fill_diagonal(found, 0.0)
    for a, b, length in edges:
        found[a, b] = found[b, a] = min(found[a, b], length)
    for k in range(size):
        np.minimum(found, found[:, k, None] + found[None, k, :], out=found)
    reachable = found[np.isfinite(found)].max()
    found[~np.isfinite(found)] = reachable + 1.0
    return found


def _first_guess(wanted: Points) -> Points:
    """Classical scaling, nudged off any line so that rounds can leave it."""
    size = len(wanted)
    centring = np.eye(size) - 1.0 / size
    values, vectors = np.linalg.eigh(-0.5 * centring @ wanted**2 @ centring)
    axes = vectors[:, -2:][:, ::-1]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    turn = 2 * np.pi * np.arange(size) / size
    nudge = 0.02 * wanted.max() * np.column_stack([np.cos(turn), np.sin(turn)])
    return np.asarray(axes * np.sqrt(np.maximum(values[-2:][::-1], 0.0)) + nudge)


def _majorize(points: Points, wanted: Points) -> Points:
    weights = np.divide(1.0, wanted**2, out=np.zeros_like(wanted), where=wanted > 0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian)
    for _ in range(_ROUNDS):
        apart = np.linalg.norm(points[:, None] - points[None], axis=2)
        pull = np.divide(weights * wanted, apart, out=np.zeros_like(apart), where=apart > 1e-12)
        moved = inverse @ ((np.diag(pull.sum(axis=1)) - pull) @ points)
        step = np.abs(moved - points).max()
        points = moved
        if step < _SETTLED * wanted.max():
            break
    return points


def _turned(points: Points) -> Points:
    centred = points - points.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    axes = vectors[:, ::-1]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    return np.asarray(centred @ axes)


def edges_between(names: Sequence[str], links: Mapping[tuple[str, str], float]) -> list[Edge]:
    """Links between named nodes as edges between their positions."""
    position = {name: i for i, name in enumerate(names)}
    return [(position[a], position[b], length) for (a, b), length in links.items()]
