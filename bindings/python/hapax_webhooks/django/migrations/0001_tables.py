"""Creates the inbox and the outbox, as `hapax_webhooks.create_tables` does."""

from typing import Any

from django.db import migrations

from hapax_webhooks.tables import ddl


def create(_apps: Any, schema_editor: Any) -> None:
    dialect = {"postgresql": "postgres", "sqlite": "sqlite"}.get(schema_editor.connection.vendor)
    if dialect is None:
        # A database of another kind holds no effects that the inbox could protect.
        return
    for statement in ddl("postgres" if dialect == "postgres" else "sqlite"):
        schema_editor.execute(statement, params=None)


def drop(_apps: Any, schema_editor: Any) -> None:
    for table in ("hapax_inbox", "hapax_outbox"):
        schema_editor.execute(f"DROP TABLE IF EXISTS {table}", params=None)


class Migration(migrations.Migration):
    initial = True
    dependencies = []  # noqa: RUF012
    operations = [migrations.RunPython(create, drop, elidable=False)]  # noqa: RUF012
