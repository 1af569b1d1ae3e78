//! Schema versions: which one a file has, and how it is migrated to ours.

use rusqlite::{Connection, OptionalExtension};

use crate::open_error::OpenError;

/// Migrations in order; the first creates version 1.
const MIGRATIONS: [&str; 7] = [
    include_str!("migrations/0001_initial.sql"),
    include_str!("migrations/0002_source_states.sql"),
    include_str!("migrations/0003_looking.sql"),
    include_str!("migrations/0004_alerts.sql"),
    include_str!("migrations/0005_places.sql"),
    include_str!("migrations/0006_audit_chain.sql"),
    include_str!("migrations/0007_ledger_keys.sql"),
];

/// What a new file gets in place of migration 7: a file that no earlier version has served need not stay open to one.
const MERGED_LEDGER: &str = include_str!("migrations/0007_merged_ledger.sql");
/// The position of migration 7.
const LEDGER_KEYS: usize = 6;

/// The schema version that this program writes.
pub const SCHEMA_VERSION: u32 = MIGRATIONS.len() as u32;

/// Marks a file as a Hapax database: "Hapx".
pub(crate) const APPLICATION_ID: i32 = 0x4861_7078;

/// Whether a file can be served: new, ours and not too new, or ours and still compatible.
pub(crate) fn check(connection: &Connection) -> Result<(), OpenError> {
    let found = version(connection)?;
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(OpenError::from_sql)?;
    if tables == 0 && found == 0 {
        return Ok(());
    }
    let application_id: i32 = connection
        .query_row("PRAGMA application_id", [], |row| row.get(0))
        .map_err(OpenError::from_sql)?;
    if application_id != APPLICATION_ID {
        return Err(OpenError::NotADatabase {
            reason: "it is an SQLite database, but of another program".to_owned(),
        });
    }
    if found > SCHEMA_VERSION && min_compatible(connection)? > SCHEMA_VERSION {
        return Err(OpenError::NewerSchema {
            found,
            supported: SCHEMA_VERSION,
        });
    }
    if found == 0 {
        return Err(OpenError::Damaged {
            reason: "its schema has no version".to_owned(),
            source: None,
        });
    }
    Ok(())
}

/// Migrates a file that passed [`check`] to our version, completely or not at all.
pub(crate) fn migrate(connection: &Connection) -> Result<(), OpenError> {
    let found = version(connection)? as usize;
    for (done, migration) in MIGRATIONS.iter().enumerate().skip(found) {
        let migration = if found == 0 && done == LEDGER_KEYS {
            MERGED_LEDGER
        } else {
            *migration
        };
        let script = format!(
            "BEGIN IMMEDIATE;\n{migration}\nPRAGMA application_id = {APPLICATION_ID};\n\
             PRAGMA user_version = {};\nCOMMIT;",
            done + 1
        );
        connection.execute_batch(&script).map_err(|error| {
            if !connection.is_autocommit() {
                // The connection is closed right after, which also rolls back.
                drop(connection.execute_batch("ROLLBACK"));
            }
            OpenError::from_sql(error)
        })?;
        tracing::info!(version = done + 1, "the schema was migrated");
    }
    Ok(())
}

fn version(connection: &Connection) -> Result<u32, OpenError> {
    connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(OpenError::from_sql)
}

fn min_compatible(connection: &Connection) -> Result<u32, OpenError> {
    let found: Option<u32> = connection
        .query_row("SELECT value FROM meta WHERE key = 'min_compatible'", [], |row| {
            row.get(0)
        })
        .optional()
        .map_err(OpenError::from_sql)?;
    Ok(found.unwrap_or(u32::MAX))
}
