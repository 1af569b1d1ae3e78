//! Schema versions: which one a database has, and how it is migrated to ours.

use tokio_postgres::Client;

use crate::bind::bind;
use crate::open_error::OpenError;

/// Migrations in order; the first creates version 1.
const MIGRATIONS: [&str; 7] = [
    include_str!("migrations/0001_initial.sql"),
    include_str!("migrations/0002_source_states.sql"),
    include_str!("migrations/0003_looking.sql"),
    include_str!("migrations/0004_alerts.sql"),
    include_str!("migrations/0005_turns.sql"),
    include_str!("migrations/0006_owners.sql"),
    include_str!("migrations/0007_audit_chain.sql"),
];

/// The schema version that this program writes.
pub const SCHEMA_VERSION: u32 = MIGRATIONS.len() as u32;

/// The lock under which one replica migrates while the others wait: "Hapax" in ASCII.
const LOCK: i64 = 0x48_6170_6178;

/// Migrates the schema to our version, completely or not at all. Replicas that start at the same time do so one after
/// the other, and only the first finds anything to do.
pub(crate) async fn migrate(client: &Client) -> Result<(), OpenError> {
    client.batch_execute("BEGIN").await.map_err(OpenError::database)?;
    let outcome = migrate_locked(client).await;
    let end = if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = client.batch_execute(end).await.map_err(OpenError::database);
    outcome.and(ended)
}

async fn migrate_locked(client: &Client) -> Result<(), OpenError> {
    // A transaction-level lock, because a pooler may share the session.
    client
        .query_typed("SELECT pg_advisory_xact_lock($1::int8)", bind![LOCK])
        .await
        .map_err(OpenError::database)?;
    let found = version(client).await?;
    if found > SCHEMA_VERSION {
        let oldest = meta(client, "min_compatible").await?;
        return if oldest > SCHEMA_VERSION {
            Err(OpenError::NewerSchema {
                found,
                supported: SCHEMA_VERSION,
            })
        } else {
            Ok(())
        };
    }
    for (done, migration) in MIGRATIONS.iter().enumerate().skip(found as usize) {
        for statement in statements(migration) {
            client
                .batch_execute(&statement)
                .await
                .map_err(OpenError::database)?;
        }
        let version = done as i64 + 1;
        client
            .query_typed(
                "UPDATE hapax.meta SET value = $1::int8 WHERE key = 'schema_version'",
                bind![version],
            )
            .await
            .map_err(OpenError::database)?;
        tracing::info!(version = done + 1, "the schema was migrated");
    }
    Ok(())
}

/// The statements of a migration, each of which ends at the end of a line. Citus passes the whole text on to the shards
/// of the table that it changes, and they accept one statement at a time.
fn statements(migration: &str) -> Vec<String> {
    let mut statements = vec![String::new()];
    for line in migration.lines().filter(|line| !line.starts_with("--")) {
        if let Some(last) = statements.last_mut() {
            last.push_str(line);
            last.push('\n');
        }
        if line.ends_with(';') {
            statements.push(String::new());
        }
    }
    statements.retain(|statement| !statement.trim().is_empty());
    statements
}

async fn version(client: &Client) -> Result<u32, OpenError> {
    let rows = client
        .query_typed("SELECT to_regclass('hapax.meta') IS NOT NULL", &[])
        .await
        .map_err(OpenError::database)?;
    let mut exists = false;
    for row in rows {
        exists = row.try_get(0).map_err(OpenError::database)?;
    }
    if exists {
        meta(client, "schema_version").await
    } else {
        Ok(0)
    }
}

async fn meta(client: &Client, key: &str) -> Result<u32, OpenError> {
    let rows = client
        .query_typed("SELECT value FROM hapax.meta WHERE key = $1::text", bind![key])
        .await
        .map_err(OpenError::database)?;
    let Some(row) = rows.first() else {
        return Err(OpenError::NotOurs);
    };
    let value: i64 = row.try_get(0).map_err(OpenError::database)?;
    u32::try_from(value).map_err(|_| OpenError::NotOurs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_migration_is_run_statement_by_statement() {
        for migration in MIGRATIONS {
            for statement in statements(migration) {
                let statement = statement.trim();
                let ends = statement.matches(";\n").count() + statement.matches("; ").count();
                assert!(
                    statement.ends_with(';') && ends == 0 && !statement.contains("$$"),
                    "not one statement that ends with its line: {statement}"
                );
            }
        }
        let first = statements(MIGRATIONS[0]);
        assert!(first[0].contains("CREATE SCHEMA"), "{first:?}");
    }
}
