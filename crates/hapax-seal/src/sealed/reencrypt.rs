//! Re-encryption in the background: a walk over all rows brings those that are plain or under another key under the
//! first key. Any replica may walk, one at a time; another resumes where it stopped. A walk that finds nothing left
//! proves that the other keys are no longer needed.

use std::time::Duration;

use aws_lc_rs::rand;
use hapax_core::Timestamp;
use hapax_core::store::MigrationCursor;

use super::Sealed;
use crate::keyring::{self, Counted, OpenError, Pass, Rows};
use crate::keys::KeyId;

/// Records read and rewritten at a time, so that a store with a single writer is not held up for long.
const RECORDS: u32 = 50;
/// How often progress is recorded in the store.
const NOTED_EVERY: Duration = Duration::from_secs(5);

/// The result of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reencrypted {
    /// Nothing is left to do: all rows are under the first key, another replica is walking, or new rows are plain here.
    Nothing,
    /// Some rows were examined; this many values needed rewriting.
    Some { values: u64 },
}

/// A walk of this process.
pub(super) struct Walk {
    pass: Pass,
    noted_at: Timestamp,
}

impl Sealed {
    /// One step: examines a page of rows and rewrites those that need it. Call it again immediately after
    /// [`Reencrypted::Some`], and after a minute otherwise.
    pub async fn reencrypt(&self, now: Timestamp) -> Result<Reencrypted, OpenError> {
        let known = self.walk.lock().take();
        let walk = match known {
            Some(walk) => Some(walk),
            None => self.begin(now).await?,
        };
        let Some(mut walk) = walk else {
            return Ok(Reencrypted::Nothing);
        };
        let values = self.page(&mut walk.pass).await?;
        if let MigrationCursor::Identities(_) | MigrationCursor::Bodies(_) = walk.pass.reached {
            self.go_on(walk, now).await?;
            return Ok(Reencrypted::Some { values });
        }
        if let Some(rows) = keyring::end_pass(&*self.inner, &walk.pass, now).await? {
            self.know(rows);
        }
        // Values that could not be rewritten are not examined again immediately.
        Ok(match walk.pass.rewritten {
            0 => Reencrypted::Nothing,
            _ => Reencrypted::Some { values },
        })
    }

    /// Leaves the walk in progress to other replicas, because this one is stopping.
    pub async fn leave(&self) -> Result<(), OpenError> {
        let walk = self.walk.lock().take();
        if let Some(walk) = walk {
            keyring::keep_pass(&*self.inner, &walk.pass, None).await?;
        }
        Ok(())
    }

    /// The id of the key that new rows are written with.
    pub fn writes_with(&self) -> KeyId {
        self.first()
    }

    /// What the last finished walk found, before it rewrote any. Another replica may have walked.
    pub async fn counted(&self) -> Result<Option<Counted>, OpenError> {
        keyring::counted(&*self.inner).await
    }

    /// Reads the keyring again, and claims the walk if there is something to do.
    async fn begin(&self, now: Timestamp) -> Result<Option<Walk>, OpenError> {
        let rows = keyring::open(&*self.inner, &self.contents.keys).await?.rows;
        keyring::note_writer(&*self.inner, &self.contents.keys, now).await?;
        let is_done = !rows.plain && rows.keys.iter().all(|key| *key == self.first());
        self.know(rows);
        if is_done || self.contents.writes_plain() {
            return Ok(None);
        }
        let pass = keyring::take_pass(&*self.inner, self.first(), self.walker, now).await?;
        Ok(pass.map(|pass| Walk { pass, noted_at: now }))
    }

    /// Keeps the walk for the next step and records it now and then, unless another process has claimed it.
    async fn go_on(&self, mut walk: Walk, now: Timestamp) -> Result<(), OpenError> {
        if now >= walk.noted_at.plus(NOTED_EVERY) {
            if !keyring::keep_pass(&*self.inner, &walk.pass, Some(now)).await? {
                return Ok(());
            }
            walk.noted_at = now;
        }
        *self.walk.lock() = Some(walk);
        Ok(())
    }

    fn know(&self, rows: Rows) {
        *self.rows.lock() = rows;
    }

    /// Processes the next page. Returns how many of its values needed rewriting.
    async fn page(&self, pass: &mut Pass) -> Result<u64, OpenError> {
        let page = self.inner.export(&pass.reached, RECORDS).await?;
        let mut rows = Vec::new();
        for record in page.records {
            rows.extend(self.rewritten(record, &mut pass.found));
        }
        let values = rows.len() as u64;
        if !rows.is_empty() {
            self.inner.reseal(rows).await?;
        }
        pass.rewritten += values;
        pass.reached = page.next.unwrap_or(MigrationCursor::Pauses);
        Ok(values)
    }
}

/// A number that no other process has.
pub(super) fn walker() -> u64 {
    let mut bytes = [0; 8];
    // Without random numbers, nothing is encrypted either.
    match rand::fill(&mut bytes) {
        Ok(()) => u64::from_be_bytes(bytes),
        Err(_) => 0,
    }
}
