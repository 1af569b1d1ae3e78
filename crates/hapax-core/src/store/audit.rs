//! The audit trail as a hash chain: each entry carries its number and the hash of the entry before it. Verification
//! detects an entry that was changed, removed or inserted, and, with a head that was saved earlier, a trail that was
//! rewritten.
//!
//! Each store has one chain with one end: an entry is appended under the lock of the head, in one step.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::hash::sha256_of_parts;

/// The person or program that acts: a verified name, such as that of a token in the configuration, and a note in their
/// own words, which proves nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actor {
    /// The name shown in the audit trail.
    pub name: String,
    /// The actor's own note; may be empty.
    pub note: String,
}

impl Actor {
    /// Creates an audit entry for an action. The actor's note is appended to the detail and marked as such.
    pub fn entry(&self, action: &str, subject: impl Into<String>, detail: impl Into<String>) -> AuditEntry {
        let detail = detail.into();
        let detail = match (detail.is_empty(), self.note.is_empty()) {
            (_, true) => detail,
            (true, false) => format!("note: {}", self.note),
            (false, false) => format!("{detail}; note: {}", self.note),
        };
        AuditEntry {
            who: self.name.clone(),
            action: action.to_owned(),
            subject: subject.into(),
            detail,
        }
    }
}

impl From<&str> for Actor {
    fn from(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            note: String::new(),
        }
    }
}

impl From<&Self> for Actor {
    fn from(actor: &Self) -> Self {
        actor.clone()
    }
}

/// One operator action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Who acted.
    pub who: String,
    /// The action, such as `replay`.
    pub action: String,
    /// What the action was applied to.
    pub subject: String,
    /// Further details.
    pub detail: String,
}

/// An entry of the audit trail, as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// When it was recorded (the store's clock).
    pub at: Timestamp,
    /// The recorded action.
    #[serde(flatten)]
    pub entry: AuditEntry,
    /// Its link in the chain; `None` if an earlier version wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<AuditLink>,
}

/// SHA-256 of an entry, which covers the hash of the entry before it.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditHash([u8; 32]);

impl fmt::Display for AuditHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for AuditHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A position in the chain: an entry's number, counted from 1, and its hash. The default is the position before the
/// first entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditHead {
    /// The entry's number.
    pub seq: u64,
    /// The entry's hash.
    pub hash: AuditHash,
}

impl AuditHead {
    /// The length of the stored form, in bytes.
    pub const BYTES: usize = 40;

    /// The stored form.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (seq, hash) = bytes.split_at_mut(8);
        seq.copy_from_slice(&self.seq.to_be_bytes());
        hash.copy_from_slice(&self.hash.0);
        bytes
    }

    /// Reads the stored form; `None` if the bytes are not one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (seq, hash) = bytes.split_first_chunk()?;
        Some(Self {
            seq: u64::from_be_bytes(*seq),
            hash: AuditHash(hash.try_into().ok()?),
        })
    }

    /// The link of the entry that follows this position.
    pub fn followed_by(self, at: Timestamp, entry: &AuditEntry) -> AuditLink {
        let seq = self.seq + 1;
        AuditLink {
            previous: self.hash,
            head: Self {
                seq,
                hash: digest(self.hash, seq, at, entry),
            },
        }
    }
}

/// Formats the head for people to save: `340:9f86d081…`.
impl fmt::Display for AuditHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

impl FromStr for AuditHead {
    type Err = NotAHead;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (seq, hash) = text.split_once(':')?;
            let mut bytes = [0; 32];
            hex::decode_to_slice(hash, &mut bytes).ok()?;
            Some(Self {
                seq: seq.parse().ok().filter(|seq| *seq > 0)?,
                hash: AuditHash(bytes),
            })
        };
        parse().ok_or_else(|| NotAHead(text.to_owned()))
    }
}

/// The string is not the head of an audit trail.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not the head of an audit trail. A head is SEQ:HASH, as `hapax audit verify` prints it")]
pub struct NotAHead(String);

/// An entry's link in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditLink {
    /// The hash of the entry before it.
    pub previous: AuditHash,
    /// The entry's own position.
    pub head: AuditHead,
}

impl AuditLink {
    /// The stored form.
    pub fn to_bytes(self) -> Vec<u8> {
        [&self.head.to_bytes()[..], &self.previous.0].concat()
    }

    /// Reads the stored form; `None` if the bytes are not one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, previous) = bytes.split_first_chunk::<{ AuditHead::BYTES }>()?;
        Some(Self {
            previous: AuditHash(previous.try_into().ok()?),
            head: AuditHead::from_bytes(head)?,
        })
    }

    /// The position of the entry before it.
    pub const fn before(&self) -> AuditHead {
        AuditHead {
            seq: self.head.seq.saturating_sub(1),
            hash: self.previous,
        }
    }
}

impl Serialize for AuditLink {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(self.to_bytes()))
    }
}

impl<'de> Deserialize<'de> for AuditLink {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = hex::decode(text).map_err(serde::de::Error::custom)?;
        Self::from_bytes(&bytes)
            .ok_or_else(|| serde::de::Error::custom("a link of the audit trail has the wrong length"))
    }
}

/// The input of an entry's hash: every part preceded by its length. A keyed hash belongs here, too.
fn digest(previous: AuditHash, seq: u64, at: Timestamp, entry: &AuditEntry) -> AuditHash {
    AuditHash(sha256_of_parts(
        "hapax audit 1",
        &[
            &previous.0,
            &seq.to_be_bytes(),
            &at.as_micros().to_be_bytes(),
            entry.who.as_bytes(),
            entry.action.as_bytes(),
            entry.subject.as_bytes(),
            entry.detail.as_bytes(),
        ],
    ))
}

/// Where a chain is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditBreak {
    /// The number of the broken entry. All retained entries before it are as they were written.
    pub seq: u64,
    /// What is wrong with it.
    pub why: &'static str,
}

/// How long entries are kept. Fixed, so that an entry that disappeared too early is detected.
pub const AUDIT_KEEP: Duration = Duration::from_secs(400 * 86_400);

/// How much clocks may disagree before an entry counts as deleted too early.
const SKEW: Duration = Duration::from_secs(3600);

/// Selects which of the oldest entries retention deletes, given each with its link: all those from before the cutoff,
/// except the last one in the chain. Its timestamp proves that the entries before it were old enough to delete.
pub fn expired_audit<T>(
    oldest: impl IntoIterator<Item = (T, Timestamp, Option<AuditLink>)>,
    before: Timestamp,
) -> Vec<T> {
    let mut expired = Vec::new();
    let mut witness = None;
    for (entry, at, link) in oldest {
        if at >= before {
            break;
        }
        match link {
            Some(_) => expired.extend(witness.replace(entry)),
            None => expired.push(entry),
        }
    }
    expired
}

/// Verifies a chain from its last entry back to its first.
#[derive(Debug)]
pub struct AuditCheck {
    head: AuditHead,
    kept: Option<AuditHead>,
    /// The position that the next older entry must have.
    expected: AuditHead,
    /// When the oldest entry so far was written.
    oldest: Option<Timestamp>,
    /// The last entry that was appended after the head was read.
    later: u64,
    entries: u64,
    /// Entries without a link, and how many of them are not older than the chain.
    unlinked: u64,
    unchained: u64,
    is_kept_found: bool,
    broken: Option<AuditBreak>,
}

/// The result of verifying a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditVerified {
    /// The last entry that was checked.
    pub head: AuditHead,
    /// The number of the last entry that retention has deleted; 0 if none was.
    pub deleted: u64,
    /// The number of entries checked.
    pub entries: u64,
    /// Entries outside the chain that are not older than it: written by a replica of an earlier version, or by an
    /// intruder.
    pub unchained: u64,
    /// Entries from before the chain existed.
    pub before: u64,
    /// The oldest entry that is not as it was written.
    pub broken: Option<AuditBreak>,
}

impl AuditCheck {
    /// A check of the chain that ends at `head`, which must be read *before* the entries, and against a head that was
    /// saved earlier.
    pub const fn new(head: AuditHead, kept: Option<AuditHead>) -> Self {
        Self {
            head,
            kept,
            expected: head,
            oldest: None,
            later: 0,
            entries: 0,
            unlinked: 0,
            unchained: 0,
            is_kept_found: false,
            broken: None,
        }
    }

    /// Checks the next entry, newest first.
    pub fn look(&mut self, record: &AuditRecord) {
        let Some(link) = record.link else {
            self.unlinked += 1;
            return;
        };
        let seq = link.head.seq;
        if self.entries == 0 && seq > self.head.seq {
            self.later = self.later.max(seq);
            return;
        }
        self.unchained += std::mem::take(&mut self.unlinked);
        self.entries += 1;
        // The older of two breaks counts, and the walk goes from newer to older entries.
        if seq < self.expected.seq {
            self.break_at(seq + 1, "it is missing");
        } else if link.head != self.expected {
            self.break_at(seq, "it is not the entry that the next one links to");
        }
        if link != link.before().followed_by(record.at, &record.entry) {
            self.break_at(seq, "it was changed: its hash does not match");
        }
        if let Some(kept) = self.kept.filter(|kept| kept.seq == seq) {
            self.is_kept_found = true;
            if kept.hash != link.head.hash {
                self.break_at(
                    seq,
                    "it is not the entry whose hash was saved: the trail was rewritten",
                );
            }
        }
        self.expected = link.before();
        self.oldest = Some(record.at);
    }

    /// The result, given the head and the time *after* the walk.
    pub fn finish(mut self, head: AuditHead, now: Timestamp) -> AuditVerified {
        let deleted = self.expected.seq;
        let is_old = |at: Timestamp| at < now.minus(AUDIT_KEEP.saturating_sub(SKEW));
        if deleted > 0 && !self.oldest.is_some_and(is_old) {
            self.break_at(
                deleted,
                "it is missing, and was too recent for retention to delete it",
            );
        }
        if let Some(kept) = self.kept.filter(|kept| !self.is_kept_found && kept.seq > deleted) {
            self.break_at(
                kept.seq.min(self.head.seq + 1),
                "it is missing: the trail ends before the saved head",
            );
        }
        if self.later > head.seq {
            self.break_at(
                head.seq + 1,
                "it was not written by Hapax: the chain ends before it",
            );
        }
        AuditVerified {
            head: self.head,
            deleted,
            entries: self.entries,
            unchained: self.unchained,
            before: self.unlinked,
            broken: self.broken,
        }
    }

    fn break_at(&mut self, seq: u64, why: &'static str) {
        if self.broken.as_ref().is_none_or(|broken| broken.seq >= seq) {
            self.broken = Some(AuditBreak { seq, why });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn entry(subject: &str) -> AuditEntry {
        AuditEntry {
            who: "ops".to_owned(),
            action: "pause".to_owned(),
            subject: subject.to_owned(),
            detail: String::new(),
        }
    }

    /// When the entry with this number was written: one per day.
    fn day(number: u64) -> Timestamp {
        Timestamp::default().plus(DAY * u32::try_from(number).unwrap())
    }

    /// A chain with this many entries, newest first, and its head.
    fn trail(entries: u64) -> (Vec<AuditRecord>, AuditHead) {
        let mut head = AuditHead::default();
        let mut records = Vec::new();
        for number in 1..=entries {
            let (at, entry) = (day(number), entry(&number.to_string()));
            let link = head.followed_by(at, &entry);
            head = link.head;
            let link = Some(link);
            records.insert(0, AuditRecord { at, entry, link });
        }
        (records, head)
    }

    fn unchained() -> AuditRecord {
        AuditRecord {
            at: Timestamp::default(),
            entry: entry("old"),
            link: None,
        }
    }

    /// The result on the day of the last entry.
    fn verified(records: &[AuditRecord], head: AuditHead, kept: Option<AuditHead>) -> AuditVerified {
        verified_at(day(head.seq), records, head, kept)
    }

    fn verified_at(
        now: Timestamp,
        records: &[AuditRecord],
        head: AuditHead,
        kept: Option<AuditHead>,
    ) -> AuditVerified {
        let mut check = AuditCheck::new(head, kept);
        for record in records {
            check.look(record);
        }
        check.finish(head, now)
    }

    #[test]
    fn entries_of_earlier_versions_break_nothing_and_are_counted() {
        let (mut records, head) = trail(4);
        records.push(unchained());
        records.insert(2, unchained());
        let found = verified(&records, head, Some(head));
        assert_eq!(
            (found.entries, found.unchained, found.before, found.broken),
            (4, 1, 1, None)
        );
    }

    #[test]
    fn what_retention_deleted_is_not_missed_and_what_it_did_not_is() {
        let (mut records, head) = trail(5);
        let first = records[4].link.unwrap().head;
        let later = day(3).plus(AUDIT_KEEP);
        let oldest = records
            .iter()
            .rev()
            .map(|record| (record.clone(), record.at, record.link));
        let expired = expired_audit(oldest, later.plus(DAY).minus(AUDIT_KEEP));
        assert_eq!(
            expired.len(),
            2,
            "the third entry is old, too, and proves that the others were"
        );
        records.truncate(3);
        let found = verified_at(later.plus(DAY), &records, head, Some(first));
        assert_eq!((found.deleted, found.broken), (2, None));
        records.truncate(2);
        let broken = verified_at(later, &records, head, Some(first)).broken.unwrap();
        assert_eq!(broken.seq, 3);
        assert_eq!(verified(&[], head, None).broken.unwrap().seq, 5);
    }

    #[test]
    fn entries_of_earlier_versions_expire_beside_the_chain() {
        let (mut records, _) = trail(3);
        records.push(unchained());
        records.insert(1, unchained());
        let oldest = (0..).zip(records.iter().rev());
        let oldest = oldest.map(|(number, record)| (number, record.at, record.link));
        assert_eq!(expired_audit(oldest, day(3)), [0, 1, 3]);
    }

    #[test]
    fn of_two_breaks_the_older_is_told() {
        let (mut records, head) = trail(6);
        records[4].entry.who = "mallory".to_owned();
        records.remove(1);
        assert_eq!(verified(&records, head, None).broken.unwrap().seq, 2);
    }

    #[test]
    fn an_entry_beyond_the_end_was_not_written_by_hapax() {
        let (records, _) = trail(3);
        let (_, head) = trail(2);
        assert_eq!(verified(&records, head, None).broken.unwrap().seq, 3);
    }

    #[test]
    fn a_head_reads_back_and_nothing_else_does() {
        let (_, head) = trail(3);
        assert_eq!(head.to_string().parse::<AuditHead>().unwrap(), head);
        for text in ["", "3", "3:", "3:00ff", "0:00", "x:y"] {
            assert!(text.parse::<AuditHead>().is_err(), "{text}");
        }
    }

    #[test]
    fn no_text_can_move_from_one_part_of_an_entry_to_the_next() {
        let hash = |who: &str, action: &str| {
            let entry = AuditEntry {
                who: who.to_owned(),
                action: action.to_owned(),
                ..entry("")
            };
            AuditHead::default()
                .followed_by(Timestamp::default(), &entry)
                .head
                .hash
        };
        assert_ne!(hash("ab", "c"), hash("a", "bc"));
    }
}
