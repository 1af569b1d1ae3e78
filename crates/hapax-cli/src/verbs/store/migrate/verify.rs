//! Comparing two stores: both are read from the start, record by record.

use std::collections::VecDeque;

use aws_lc_rs::digest::{Context, SHA256};
use hapax_core::Backend;
use hapax_core::store::{Error, MigrationCursor, Record};

use hapax_terminal::progress::Progress;

/// Differences to list one by one; the rest are only counted.
const TOLD_MAX: usize = 20;

#[derive(Debug)]
pub(super) struct StoreComparison {
    /// Hash over the digests of all records, in order.
    pub(super) source_hash: String,
    /// The same for the target.
    target_hash: String,
    /// As sentences.
    pub(super) differences: Vec<String>,
}

impl StoreComparison {
    pub(super) fn is_equal(&self) -> bool {
        self.differences.is_empty() && self.source_hash == self.target_hash
    }
}

/// Reads both stores, and compares the number of records of each kind and everything that must be equal.
pub(super) async fn compare(
    source: &dyn Backend,
    target: &dyn Backend,
    total: u64,
    page: u32,
) -> Result<StoreComparison, Error> {
    let progress = Progress::quiet_unless_terminal(total);
    progress.say("verifying");
    let (mut left, mut right) = (Side::new(source, page), Side::new(target, page));
    let mut differences = Differences::default();
    let mut seen = 0;
    loop {
        left.fill().await?;
        right.fill().await?;
        match (left.records.front(), right.records.front()) {
            (None, None) => break,
            (Some(one), Some(other)) if one.place() == other.place() => {
                if left.take() != right.take() {
                    differences.add(&left, "is not the same in both");
                }
            }
            (Some(one), Some(other)) if one.place() < other.place() => {
                left.take();
                differences.add(&left, "is missing in the target");
            }
            (Some(_), None) => {
                left.take();
                differences.add(&left, "is missing in the target");
            }
            (None | Some(_), Some(_)) => {
                right.take();
                differences.add(&right, "is only in the target");
            }
        }
        seen += 1;
        progress.set(seen);
    }
    let counts = source.census().await?.counts();
    for ((name, wanted), (_, found)) in counts.into_iter().zip(target.census().await?.counts()) {
        if wanted != found {
            differences
                .told
                .push(format!("{name}: {wanted} in the source, {found} in the target"));
        }
    }
    Ok(StoreComparison {
        source_hash: left.hash(),
        target_hash: right.hash(),
        differences: differences.into_words(),
    })
}

/// One store, read from its start.
struct Side<'s> {
    store: &'s dyn Backend,
    page: u32,
    next: Option<MigrationCursor>,
    records: VecDeque<Record>,
    rolling: Context,
    /// The name of the last record taken.
    last: String,
}

impl<'s> Side<'s> {
    fn new(store: &'s dyn Backend, page: u32) -> Self {
        Self {
            store,
            page,
            next: Some(MigrationCursor::START),
            records: VecDeque::new(),
            rolling: Context::new(&SHA256),
            last: String::new(),
        }
    }

    /// Reads pages until there is a record, or the end.
    async fn fill(&mut self) -> Result<(), Error> {
        while self.records.is_empty()
            && let Some(cursor) = self.next.take()
        {
            let page = self.store.export(&cursor, self.page).await?;
            self.records.extend(page.records);
            self.next = page.next;
        }
        Ok(())
    }

    /// Moves the first record into the rolling hash and returns its digest.
    fn take(&mut self) -> Option<[u8; 32]> {
        let record = self.records.pop_front()?;
        let digest = record.digest();
        self.rolling.update(&digest);
        self.last = record.name();
        Some(digest)
    }

    fn hash(self) -> String {
        hex::encode(self.rolling.finish())
    }
}

/// The differences: the first ones as sentences, the rest as a count.
#[derive(Default)]
struct Differences {
    told: Vec<String>,
    untold: u64,
}

impl Differences {
    /// Adds a difference about the last record of a side.
    fn add(&mut self, side: &Side<'_>, what: &str) {
        if self.told.len() < TOLD_MAX {
            self.told.push(format!("{} {what}", side.last));
        } else {
            self.untold += 1;
        }
    }

    fn into_words(mut self) -> Vec<String> {
        if self.untold > 0 {
            self.told.push(format!("and {} more", self.untold));
        }
        self.told
    }
}
