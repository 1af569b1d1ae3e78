//! Importing records. A record that already exists stays as it is.

use std::collections::HashSet;

use hapax_core::Key;
use hapax_core::store::{EventContents, IdentityRecord, JobRecord, MigrationCursor, Record};
use serde::Serialize;
use uuid::Uuid;

use super::mark;
use super::tables::{
    AttemptRow, AuditRow, Binary, BodyRow, ConflictRow, DuplicateRow, EarlierRow, EventRow, IndexedRow,
    LedgerRow, NotedRow, OutcomeRow, PauseRow, SameBodyRow, WorkRow,
};
use super::to_rows::{error, event_row, ledger_row, outcome_row, places, work_row};
use crate::audit;
use crate::bind::bind;
use crate::failure::Failure;
use crate::jobs;
use crate::lanes::{self, LanePosition, Standing};
use crate::noted::Noted;
use crate::rows::{bucket_by, key_at, key_bucket, key_uuid, uuid_of};
use crate::session::{Numbers, Session};
use crate::tallies::Tallies;

/// Inserts rows of a table that do not exist yet.
macro_rules! insert {
    ($table:literal, $then:literal) => {
        concat!(
            "INSERT INTO hapax.",
            $table,
            " SELECT * FROM jsonb_populate_recordset(NULL::hapax.",
            $table,
            ", $1::text::jsonb) ON CONFLICT DO NOTHING",
            $then
        )
    };
    ($table:literal) => {
        insert!($table, "")
    };
}

const ANALYZE: &str = "
    ANALYZE hapax.ledger, hapax.earlier, hapax.events, hapax.work, hapax.outcomes, hapax.attempts, hapax.conflicts";

const JOB: &str = "
    INSERT INTO hapax.replays (id, state, changed_at, job) VALUES ($1::uuid, $2::text, $3::int8, $4::text)
    ON CONFLICT (id) DO NOTHING";

/// Imports records, and stores the progress of the migration.
pub(super) async fn import(
    session: &Session,
    records: &[Record],
    reached: &MigrationCursor,
) -> Result<(), Failure> {
    session.begin().await?;
    mark::advance(session, reached).await?;
    let mut identities = Vec::new();
    let mut bodies = Vec::new();
    let mut pauses = Vec::new();
    let (mut entries, mut links) = (Vec::new(), Vec::new());
    for record in records {
        match record {
            Record::Identity(identity) => identities.push(&**identity),
            Record::Body(note) => bodies.push(BodyRow {
                bucket: bucket_by(&[note.scope.as_str().as_bytes(), note.raw_hash.as_bytes()]),
                scope: note.scope.as_str().to_owned(),
                raw_hash: Binary(note.raw_hash.as_bytes().to_vec()),
                id: uuid_of(note.id),
                until: note.until.as_micros(),
            }),
            Record::Pause(pause) => pauses.push(PauseRow {
                destination: pause.destination.as_str(),
                at: pause.at.as_micros(),
                by: &pause.by,
                why: &pause.why,
            }),
            Record::Job(record) => job(session, record).await?,
            Record::Audit(entry) => {
                links.extend(entry.record.link);
                entries.push(AuditRow {
                    no: entry.number as i64,
                    at: entry.record.at.as_micros(),
                    who: &entry.record.entry.who,
                    action: &entry.record.entry.action,
                    subject: &entry.record.entry.subject,
                    detail: &entry.record.entry.detail,
                    link: entry.record.link.map(|link| Binary(link.to_bytes())),
                });
            }
        }
    }
    write_identities(session, &identities).await?;
    write(session, insert!("bodies"), &bodies).await?;
    write(session, insert!("pauses"), &pauses).await?;
    write(session, insert!("audit"), &entries).await?;
    audit::import(session, &links).await?;
    if *reached == MigrationCursor::Bodies(None) {
        // After the last of the identities: later readers must not plan for empty tables.
        session.rows_of(ANALYZE, &[]).await?;
    }
    session.commit().await
}

async fn job(session: &Session, record: &JobRecord) -> Result<(), Failure> {
    let job = &record.job;
    let text = serde_json::to_string(job)
        .map_err(|error| Failure::Rejected(format!("the job cannot be written as JSON: {error}")))?;
    let changed_at = record.changed_at.as_micros();
    session
        .execute(
            JOB,
            bind![uuid_of(job.id.0), jobs::state_name(job.state), changed_at, text],
        )
        .await
}

async fn write_identities(session: &Session, records: &[&IdentityRecord]) -> Result<(), Failure> {
    let ledger: Vec<LedgerRow> = records.iter().map(|record| ledger_row(record)).collect();
    let inserted = write(session, insert!("ledger", " RETURNING key"), &ledger).await?;
    // A record is imported in one transaction: if its entry exists, so does the rest.
    let new: HashSet<Key> = inserted
        .iter()
        .map(|row| key_at(row, 0))
        .collect::<Result<_, _>>()?;
    let records: Vec<&IdentityRecord> = records
        .iter()
        .copied()
        .filter(|record| new.contains(&record.key))
        .collect();
    let mut rows = Rows::default();
    let mut tallies = Tallies::default();
    let conflicts = records.iter().map(|record| record.conflicts.len()).sum();
    let (_, mut numbers) = session.take(conflicts).await?;
    for record in &records {
        tallies.ledger(record.scope.as_str(), 1);
        tallies.events(record.events.len() as i64);
        rows.add(record, &mut numbers)?;
    }
    rows.write(session).await?;
    tallies.flush(session).await
}

/// Rows of the event tables.
#[derive(Default)]
struct Rows {
    earlier: Vec<EarlierRow>,
    events: Vec<EventRow>,
    work: Vec<WorkRow>,
    outcomes: Vec<OutcomeRow>,
    attempts: Vec<AttemptRow>,
    duplicates: Vec<DuplicateRow>,
    conflicts: Vec<ConflictRow>,
    same_body: Vec<SameBodyRow>,
    indexed: Vec<IndexedRow>,
    noted: Vec<NotedRow>,
    places: Vec<(LanePosition, Standing)>,
}

impl Rows {
    fn add(&mut self, record: &IdentityRecord, numbers: &mut Numbers) -> Result<(), Failure> {
        let (bucket, key) = (key_bucket(record.key), key_uuid(record.key));
        for contents in &record.events {
            let id = uuid_of(contents.event.id);
            if contents.event.id != record.entry.id {
                self.earlier.push(EarlierRow { bucket, key, id });
            }
            self.add_event(contents, bucket, key);
            self.add_noted(record, contents, bucket);
        }
        if let Some(tally) = &record.duplicates {
            self.duplicates.push(DuplicateRow {
                bucket,
                key,
                copies: tally.count as i64,
                last_at: tally.last_at.as_micros(),
                gaps: Binary(tally.gaps_ms.iter().flat_map(|gap| gap.to_be_bytes()).collect()),
            });
        }
        for conflict in &record.conflicts {
            let other_body = &conflict.other_body;
            self.conflicts.push(ConflictRow {
                bucket,
                first: uuid_of(other_body.first),
                raw_hash: Binary(other_body.raw_hash.as_bytes().to_vec()),
                no: numbers.next()?,
                key,
                received_at: other_body.received_at.as_micros(),
                seen: conflict.seen as i64,
                released_as: conflict.released_as.map(uuid_of),
                source: other_body.source.as_str().to_owned(),
                headers: Binary(other_body.headers.as_bytes().to_vec()),
                body: Binary(other_body.body.to_vec()),
            });
        }
        Ok(())
    }

    fn add_event(&mut self, contents: &EventContents, bucket: i16, key: Uuid) {
        let id = uuid_of(contents.event.id);
        self.events.push(event_row(contents, bucket, key));
        if let Some(earlier) = contents.same_body_as {
            let earlier = uuid_of(earlier);
            self.same_body.push(SameBodyRow { bucket, id, earlier });
        }
        let accepted_at = contents.accepted_at;
        let work = contents
            .work
            .iter()
            .map(|work| work_row(work, bucket, id, accepted_at));
        self.work.extend(work);
        let outcomes = contents.outcomes.iter();
        self.outcomes
            .extend(outcomes.map(|outcome| outcome_row(outcome, bucket, id, accepted_at)));
        self.places.extend(places(contents, bucket));
        // Numbered by position; later attempts get numbers from the store-wide sequence, which are greater.
        let attempts = (0_i64..).zip(&contents.attempts).map(|(no, view)| AttemptRow {
            bucket,
            id,
            no,
            token: view.token.0 as i64,
            generation: view.generation.0,
            started_at: view.attempt.started_at.as_micros(),
            duration_ms: view.attempt.duration_ms,
            status: view.attempt.status,
            destination: view.destination.as_str().to_owned(),
            error: error(view.attempt.error),
            excerpt: Binary(view.attempt.excerpt.as_bytes().to_vec()),
            message: view
                .attempt
                .message
                .as_ref()
                .map(|text| Binary(text.as_bytes().to_vec())),
        });
        self.attempts.extend(attempts);
    }

    /// Derives the rows that lists look up: duplicates belong to all events of the identity, conflicts to the event
    /// under which they arrived.
    fn add_noted(&mut self, record: &IdentityRecord, contents: &EventContents, bucket: i16) {
        let event = contents.event.id;
        let has_conflict = record.conflicts.iter().any(|one| one.other_body.first == event);
        for (what, is_so) in [
            (Noted::Duplicates, record.duplicates.is_some()),
            (Noted::Conflict, has_conflict),
        ] {
            if is_so {
                self.noted.push(NotedRow {
                    bucket,
                    id: uuid_of(event),
                    what: what.code(),
                    no: contents.order as i64,
                });
            }
        }
        let indexed = contents.indexed.iter().map(|value| IndexedRow {
            bucket,
            id: uuid_of(event),
            digest: value.digest,
            no: contents.order as i64,
            pointer: value.pointer.clone(),
        });
        self.indexed.extend(indexed);
    }

    async fn write(&self, session: &Session) -> Result<(), Failure> {
        write(session, insert!("earlier"), &self.earlier).await?;
        write(session, insert!("events"), &self.events).await?;
        write(session, insert!("work"), &self.work).await?;
        write(session, insert!("outcomes"), &self.outcomes).await?;
        write(session, insert!("attempts"), &self.attempts).await?;
        write(session, insert!("duplicates"), &self.duplicates).await?;
        write(session, insert!("conflicts"), &self.conflicts).await?;
        write(session, insert!("same_body"), &self.same_body).await?;
        write(session, insert!("indexed"), &self.indexed).await?;
        write(session, insert!("noted"), &self.noted).await?;
        lanes::join(session, &self.places).await
    }
}

/// Writes rows as JSON, unless there are none.
async fn write<T: Serialize + Sync>(
    session: &Session,
    sql: &'static str,
    rows: &[T],
) -> Result<Vec<tokio_postgres::Row>, Failure> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let text = serde_json::to_string(rows)
        .map_err(|error| Failure::Rejected(format!("a row cannot be written as JSON: {error}")))?;
    session.rows(sql, bind![text]).await
}
