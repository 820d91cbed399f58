"""Lists of keys of any length as one parameter of a statement, whose text stays the same.

SQLAlchemy's own `in_` writes a parameter for each key, which it, the driver and the database each parse again, and
databases limit how many there may be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy.engine import Dialect
    from sqlalchemy.orm import InstrumentedAttribute
    from sqlalchemy.sql.compiler import SQLCompiler


class _Integers(sa.types.UserDefinedType[str]):
    """PostgreSQL array given as its literal text: encoding a list takes the driver longer than the query the server."""

    cache_ok = True
    render_bind_cast = True

    def get_col_spec(self, **_: Any) -> str:  # noqa: ANN401
        return "INTEGER[]"


class _Keys(sa.types.TypeDecorator[Any]):
    """List parameter: an array on PostgreSQL, JSON on SQLite."""

    impl = sa.Text
    cache_ok = True

    def __init__(self, *, of_text: bool) -> None:
        super().__init__()
        self.of_text = of_text

    def load_dialect_impl(self, dialect: Dialect) -> sa.types.TypeEngine[Any]:
        if dialect.name == "postgresql":
            return dialect.type_descriptor(ARRAY(sa.Text) if self.of_text else _Integers())
        return dialect.type_descriptor(sa.Text())

    def process_bind_param(self, value: Iterable[Any] | None, dialect: Dialect) -> object:
        keys = list(value or ())
        if dialect.name != "postgresql":
            return orjson.dumps(keys).decode()
        return keys if self.of_text else f"{{{','.join(map(str, keys))}}}"


class any_of(FunctionElement[bool]):  # noqa: N801 - reads as a word of SQL, as SQLAlchemy's own do
    """Condition that `column` is one of many keys, int or str: given as the statement's parameter `name`, or `keys`."""

    type = sa.Boolean()
    inherit_cache = True

    def __init__(
        self, column: InstrumentedAttribute[Any], name: str | None = None, *, keys: Iterable[int] | Iterable[str] = ()
    ) -> None:
        type_ = _Keys(of_text=isinstance(column.type, sa.String))
        super().__init__(column, sa.bindparam(name, type_=type_) if name else sa.literal(list(keys), type_))

    def self_group(self, against: object = None) -> any_of:  # noqa: ARG002 - SQLAlchemy asks so
        """Return itself: a condition already, where SQLAlchemy would compare a function with 1."""
        return self


@compiles(any_of, "postgresql")
def _as_array(element: any_of, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401
    column, keys = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} = ANY ({keys})"


@compiles(any_of, "sqlite")
def _as_json(element: any_of, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401
    column, keys = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({keys}))"  # noqa: S608 - both as SQLAlchemy wrote them
