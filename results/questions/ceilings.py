"""Measured ceilings of a machine → a frozen row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.schema import Ceiling, Environment, Machine
from results.rows import CeilingsRow

if TYPE_CHECKING:
    from results.store import Store

SLOW_ROUNDS, SPEED = "conditions.slow_rounds", "conditions.machine_speed"
MATMUL, BANDWIDTH, COPY = "matmul_flop_per_s.", "bandwidth_bytes_per_s.", "copy_bytes_per_s"


def ceilings_of(store: Store, *, machine: str, environment: str) -> CeilingsRow | None:
    """Return the ceilings of a machine in an environment; None if none are stored."""
    with store.reading() as connection:
        found = connection.execute(
            sa.select(Ceiling.quantity, Ceiling.value, Ceiling.measured_at)
            .join(Machine, Machine.id == Ceiling.machine_id)
            .join(Environment, Environment.id == Ceiling.environment_id)
            .where(Machine.name == machine, Environment.name == environment)
            .order_by(Ceiling.measured_at.desc(), Ceiling.quantity)
        ).all()
    if not found:
        return None
    values = {row.quantity: row.value for row in found}
    sizes = {name.removeprefix(BANDWIDTH): value for name, value in values.items() if name.startswith(BANDWIDTH)}
    # What a merge left of an earlier measurement says nothing of this one.
    now = {row.quantity: row.value for row in found if row.measured_at == found[0].measured_at}
    return CeilingsRow(
        machine=machine,
        environment=environment,
        measured_at=found[0].measured_at,
        matmul_flop_per_s={
            name.removeprefix(MATMUL): value for name, value in values.items() if name.startswith(MATMUL)
        },
        bandwidth_bytes_per_s={int(size): value for size, value in sizes.items() if size.isdecimal()},
        copy_bytes_per_s=values.get(COPY),
        slow_rounds=int(now.get(SLOW_ROUNDS, 0)),
        speed=now.get(SPEED),
    )
