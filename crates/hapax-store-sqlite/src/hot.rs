//! The statements that every accept and every finish runs, prepared once for each connection. All others are prepared
//! where they are written.

use rusqlite::{Connection, Statement};

use crate::recent::Index;
use crate::work_row::work_row;

macro_rules! insert_ledger {
    () => {
        "INSERT INTO ledger (no, key, scope, id, generation, first_seen, expires_at, raw_hash, content_rule,
                             content_hash, forgotten) "
    };
}

const INSERT_LEDGER: &str = concat!(
    insert_ledger!(),
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (key) DO NOTHING"
);

const INSERT_MERGED_LEDGER: &str = concat!(
    insert_ledger!(),
    "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
     WHERE NOT EXISTS (SELECT 1 FROM ledger_keys WHERE key = ?2)"
);

const INSERT_EVENT: &str = "
    INSERT INTO events (seq, id, scope, source, generation, received_at, accepted_at, event_id, type,
                        signed_at, secret_index, raw_hash, batch_id, batch_index, headers, body, no)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
    ON CONFLICT (seq) DO NOTHING";

const INSERT_WORK: &str = "
    INSERT INTO work (seq, destination, class, wake_at, state, token, attempts, lost, owner, generation,
                      idempotency_key, lane, lane_order, on_dead, replay)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";

const SELECT_RUNNING: &str = concat!(
    "SELECT ",
    work_row!(),
    // The `+` keeps the planner off the destination index, which would read the whole backlog.
    " FROM work WHERE seq >= ?1 AND seq < ?2 AND +destination = ?3 AND token = ?4 AND state = 1 LIMIT 1"
);

const DELETE_WORK: &str = "DELETE FROM work WHERE seq = ?1 AND destination = ?2";

const INSERT_OUTCOME: &str = "
    INSERT INTO outcomes (seq, destination, token, state, current, holds, attempts, lost, finished_at, finished_no,
                          error, generation, idempotency_key, lane, lane_order, on_dead, replay)
    VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";

const INSERT_ATTEMPT: &str = "
    INSERT INTO attempts (seq, no, destination, token, generation, started_at, duration_ms, status, error,
                          excerpt, message)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

/// The prepared statements.
pub(crate) struct Hot<'c> {
    pub(crate) insert_ledger: Statement<'c>,
    pub(crate) insert_event: Statement<'c>,
    pub(crate) insert_work: Statement<'c>,
    pub(crate) select_running: Statement<'c>,
    pub(crate) delete_work: Statement<'c>,
    pub(crate) insert_outcome: Statement<'c>,
    pub(crate) insert_attempt: Statement<'c>,
}

impl<'c> Hot<'c> {
    pub(crate) fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            insert_ledger: connection.prepare(match Index::of(connection)? {
                Index::Complete => INSERT_LEDGER,
                Index::Merged => INSERT_MERGED_LEDGER,
            })?,
            insert_event: connection.prepare(INSERT_EVENT)?,
            insert_work: connection.prepare(INSERT_WORK)?,
            select_running: connection.prepare(SELECT_RUNNING)?,
            delete_work: connection.prepare(DELETE_WORK)?,
            insert_outcome: connection.prepare(INSERT_OUTCOME)?,
            insert_attempt: connection.prepare(INSERT_ATTEMPT)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Using the destination index would read the whole backlog for each finished delivery.
    #[test]
    fn a_running_delivery_is_found_by_its_event_however_long_the_backlog() {
        let connection = Connection::open_in_memory().unwrap();
        crate::schema::migrate(&connection).unwrap();
        let plan: String = connection
            .query_row(
                &format!("EXPLAIN QUERY PLAN {SELECT_RUNNING}"),
                (1, 2, 3, 4),
                |row| row.get("detail"),
            )
            .unwrap();
        assert_eq!(plan, "SEARCH work USING PRIMARY KEY (seq>? AND seq<?)");
    }
}
