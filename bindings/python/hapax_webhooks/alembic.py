"""Operations for Alembic migrations.

from alembic import op
from hapax_webhooks import alembic as hapax

def upgrade() -> None:
    hapax.create_tables(op)

def downgrade() -> None:
    hapax.drop_tables(op)
"""

from __future__ import annotations

from typing import Any

from hapax_webhooks.errors import WrongTransaction
from hapax_webhooks.tables import ddl


def create_tables(op: Any) -> None:
    """Creates `hapax_inbox` and `hapax_outbox`. Works in offline mode too (`alembic upgrade --sql`)."""
    name = op.get_context().dialect.name
    if name not in ("postgresql", "sqlite"):
        raise WrongTransaction(f"the dialect {name} is not supported; use PostgreSQL or SQLite")
    for statement in ddl("postgres" if name == "postgresql" else "sqlite"):
        op.execute(statement)


def drop_tables(op: Any) -> None:
    """Drops both tables: the service then knows no event that it has applied."""
    for table in ("hapax_inbox", "hapax_outbox"):
        op.execute(f"DROP TABLE IF EXISTS {table}")


__all__ = ["create_tables", "drop_tables"]
