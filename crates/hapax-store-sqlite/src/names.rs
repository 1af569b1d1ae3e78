//! Names as numbers: scopes, sources, destinations and rules are stored once and cached.

use std::collections::HashMap;

use hapax_core::{DestinationId, Scope, SourceName};
use rusqlite::{Connection, OptionalExtension};

use crate::failure::Failure;

/// The maximum number of cached names. Configurations have a handful; reaching the limit only costs a re-read.
const REMEMBERED_MAX: usize = 65_536;

/// A name in each of its roles, ready to be cloned.
#[derive(Clone, Debug)]
pub(crate) struct InternedName {
    pub(crate) source: SourceName,
    pub(crate) scope: Scope,
    pub(crate) destination: DestinationId,
}

/// A cache of the table of names.
#[derive(Debug, Default)]
pub(crate) struct Names {
    by_text: HashMap<Box<str>, i64>,
    by_number: HashMap<i64, InternedName>,
}

impl Names {
    /// The number of a name, if it is stored.
    pub(crate) fn find(&mut self, connection: &Connection, text: &str) -> Result<Option<i64>, Failure> {
        if let Some(number) = self.by_text.get(text) {
            return Ok(Some(*number));
        }
        let mut select = connection.prepare_cached("SELECT no FROM names WHERE name = ?1")?;
        let found: Option<i64> = select.query_row([text], |row| row.get(0)).optional()?;
        if let Some(number) = found {
            self.remember(number, text);
        }
        Ok(found)
    }

    /// The number of a name, which is stored if it is new.
    pub(crate) fn intern(&mut self, connection: &Connection, text: &str) -> Result<i64, Failure> {
        if let Some(number) = self.find(connection, text)? {
            return Ok(number);
        }
        connection
            .prepare_cached("INSERT INTO names (name) VALUES (?1)")?
            .execute([text])?;
        let number = connection.last_insert_rowid();
        self.remember(number, text);
        Ok(number)
    }

    /// The name behind a number.
    pub(crate) fn named(&mut self, connection: &Connection, number: i64) -> Result<&InternedName, Failure> {
        if !self.by_number.contains_key(&number) {
            let mut select = connection.prepare_cached("SELECT name FROM names WHERE no = ?1")?;
            let text: String = select
                .query_row([number], |row| row.get(0))
                .optional()?
                .ok_or_else(|| unknown(number))?;
            self.remember(number, &text);
        }
        self.by_number.get(&number).ok_or_else(|| unknown(number))
    }

    /// The text of an optional name.
    pub(crate) fn text(
        &mut self,
        connection: &Connection,
        number: Option<i64>,
    ) -> Result<Option<String>, Failure> {
        number
            .map(|number| Ok(self.named(connection, number)?.scope.as_str().to_owned()))
            .transpose()
    }

    /// Clears the cache: after a rollback, numbers may no longer belong to any name.
    pub(crate) fn clear(&mut self) {
        self.by_text.clear();
        self.by_number.clear();
    }

    fn remember(&mut self, number: i64, text: &str) {
        if self.by_text.len() >= REMEMBERED_MAX || self.by_number.len() >= REMEMBERED_MAX {
            self.clear();
        }
        self.by_text.insert(text.into(), number);
        self.by_number.insert(
            number,
            InternedName {
                source: text.into(),
                scope: text.into(),
                destination: text.into(),
            },
        );
    }
}

fn unknown(number: i64) -> Failure {
    Failure::Unreadable(format!(
        "a stored row refers to the name with number {number}, which does not exist"
    ))
}
