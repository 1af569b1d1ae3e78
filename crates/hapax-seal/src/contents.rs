//! Encrypts and decrypts what stores hold: events, conflicts, ledger entries, remembered bodies, values of sources.

use std::borrow::Cow;

use bytes::Bytes;
use hapax_core::store::{
    BodyNote, BodyTerm, ConflictingBody, Error, IndexedValue, LedgerEntry, ReadStored, is_sealed,
};
use hapax_core::{BodyHash, ContentHash, EventId, Headers, NewEvent, Scope, SourceName, StoredEvent};

use crate::digests::{Digests, Kind};
use crate::keys::{KeyId, Keys, Subject, Unopened, Writes};

const HEADERS: &[u8] = b"headers";
const BODY: &[u8] = b"body";
/// Marks a rule whose ledger entry holds digests instead of hashes. Without a rule, it is the whole name.
const RULE_MARK: &str = "sealed";
/// Prefix of the name of an index of digests. A pointer begins with a slash.
const POINTER_MARK: &str = "sealed:";

#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) keys: Keys,
    pub(crate) digests: Digests,
}

impl Contents {
    pub(crate) fn writes_plain(&self) -> bool {
        self.keys.writes() == Writes::Plain
    }

    pub(crate) fn seal_new(&self, event: NewEvent) -> Result<NewEvent, Error> {
        if self.writes_plain() {
            return Ok(event);
        }
        let (headers, body) = self.seal_payload(subject_of_event(&event.id), &event.headers, &event.body)?;
        let (raw_hash, content_hash) = self.seal_hashes(event.id, event.raw_hash, event.content_hash);
        Ok(NewEvent {
            raw_hash,
            content_hash: Some(content_hash),
            headers,
            body,
            indexed: event
                .indexed
                .into_iter()
                .map(|value| self.seal_indexed(value))
                .collect(),
            claimed_body: event
                .claimed_body
                .map(|(scope, hash)| self.seal_body_name(&scope, hash)),
            ..event
        })
    }

    /// Of an erased event only the hash is left to seal: the store must see that it is erased.
    pub(crate) fn seal_stored(&self, event: StoredEvent) -> Result<StoredEvent, Error> {
        if self.writes_plain() {
            return Ok(event);
        }
        if event.headers.is_erased() {
            return Ok(StoredEvent {
                raw_hash: self.seal_body_hash(event.id, event.raw_hash),
                ..event
            });
        }
        let (headers, body) = self.seal_payload(subject_of_event(&event.id), &event.headers, &event.body)?;
        Ok(StoredEvent {
            raw_hash: self.seal_body_hash(event.id, event.raw_hash),
            headers,
            body,
            ..event
        })
    }

    /// An erased event does not say whether its hash is a digest. The ledger does, if the entry is its own; otherwise
    /// the hash is a digest, unless there may be plain rows.
    pub(crate) fn open_erased(
        &self,
        event: StoredEvent,
        entry: Option<&LedgerEntry>,
        may_be_plain: bool,
    ) -> StoredEvent {
        let raw_hash = match entry.filter(|entry| entry.id == event.id) {
            _ if !event.headers.is_erased() => event.raw_hash,
            Some(entry) => entry.raw_hash,
            None if may_be_plain => event.raw_hash,
            None => self.open_body_hash(event.id, event.raw_hash),
        };
        StoredEvent { raw_hash, ..event }
    }

    pub(crate) fn open_stored(&self, event: StoredEvent) -> Result<StoredEvent, Error> {
        if !is_sealed(event.headers.as_bytes()) {
            return Ok(event);
        }
        let opened = self.open_payload(subject_of_event(&event.id), &event.headers, &event.body);
        let (headers, body) =
            opened.map_err(|unopened| unopened.to_error(&format_args!("event {}", event.id)))?;
        Ok(StoredEvent {
            raw_hash: self.open_body_hash(event.id, event.raw_hash),
            headers,
            body,
            ..event
        })
    }

    pub(crate) fn seal_conflicting_body(
        &self,
        other_body: ConflictingBody,
    ) -> Result<ConflictingBody, Error> {
        if self.writes_plain() {
            return Ok(other_body);
        }
        self.seal_with_first(other_body)
    }

    /// Sealed even if new rows are plain.
    pub(crate) fn seal_with_first(&self, other_body: ConflictingBody) -> Result<ConflictingBody, Error> {
        let name = name_of_conflicting_body(other_body.first, other_body.raw_hash);
        let (headers, body) = self.seal_payload(
            Subject::new("conflict", &name),
            &other_body.headers,
            &other_body.body,
        )?;
        Ok(ConflictingBody {
            raw_hash: self.seal_body_hash(other_body.first, other_body.raw_hash),
            headers,
            body,
            ..other_body
        })
    }

    pub(crate) fn open_conflicting_body(
        &self,
        other_body: ConflictingBody,
    ) -> Result<ConflictingBody, Error> {
        if !is_sealed(other_body.headers.as_bytes()) {
            return Ok(other_body);
        }
        let raw_hash = self.open_body_hash(other_body.first, other_body.raw_hash);
        let name = name_of_conflicting_body(other_body.first, raw_hash);
        let opened = self.open_payload(
            Subject::new("conflict", &name),
            &other_body.headers,
            &other_body.body,
        );
        let (headers, body) = opened.map_err(|unopened| {
            unopened.to_error(&format_args!("a conflict of event {}", other_body.first))
        })?;
        Ok(ConflictingBody {
            raw_hash,
            headers,
            body,
            ..other_body
        })
    }

    /// The hash of a body for one event, as stored.
    pub(crate) fn seal_body_hash(&self, event: EventId, hash: BodyHash) -> BodyHash {
        BodyHash::from_bytes(self.digests.seal(Kind::Body, event.as_bytes(), *hash.as_bytes()))
    }

    fn open_body_hash(&self, event: EventId, hash: BodyHash) -> BodyHash {
        BodyHash::from_bytes(self.digests.open(Kind::Body, event.as_bytes(), *hash.as_bytes()))
    }

    /// Both hashes of an event. The rule of the second says what they are.
    fn seal_hashes(
        &self,
        event: EventId,
        raw_hash: BodyHash,
        content: Option<ContentHash>,
    ) -> (BodyHash, ContentHash) {
        let content = match content {
            Some(content) => ContentHash {
                rule: format!("{RULE_MARK}:{}", content.rule),
                hash: BodyHash::from_bytes(self.digests.seal(
                    Kind::Content,
                    event.as_bytes(),
                    *content.hash.as_bytes(),
                )),
            },
            None => ContentHash {
                rule: RULE_MARK.to_owned(),
                hash: BodyHash::from_bytes([0; 32]),
            },
        };
        (self.seal_body_hash(event, raw_hash), content)
    }

    pub(crate) fn seal_entry(&self, entry: LedgerEntry) -> LedgerEntry {
        if self.writes_plain() {
            return entry;
        }
        let (raw_hash, content_hash) = self.seal_hashes(entry.id, entry.raw_hash, entry.content_hash);
        LedgerEntry {
            raw_hash,
            content_hash: Some(content_hash),
            ..entry
        }
    }

    pub(crate) fn open_entry(&self, entry: LedgerEntry) -> LedgerEntry {
        let stored = entry.content_hash.as_ref();
        let Some(rest) = stored.and_then(|content| content.rule.strip_prefix(RULE_MARK)) else {
            return entry;
        };
        let content_hash = rest
            .strip_prefix(':')
            .zip(stored)
            .map(|(rule, content)| ContentHash {
                rule: rule.to_owned(),
                hash: BodyHash::from_bytes(self.digests.open(
                    Kind::Content,
                    entry.id.as_bytes(),
                    *content.hash.as_bytes(),
                )),
            });
        LedgerEntry {
            raw_hash: self.open_body_hash(entry.id, entry.raw_hash),
            content_hash,
            ..entry
        }
    }

    /// The name of an index, as stored.
    pub(crate) fn seal_pointer(&self, pointer: &str) -> String {
        if self.writes_plain() {
            pointer.to_owned()
        } else {
            format!("{POINTER_MARK}{pointer}")
        }
    }

    /// The pointer for a stored name.
    pub(crate) fn open_pointer(name: String) -> String {
        match name.strip_prefix(POINTER_MARK) {
            Some(pointer) => pointer.to_owned(),
            None => name,
        }
    }

    pub(crate) fn seal_indexed(&self, value: IndexedValue) -> IndexedValue {
        if self.writes_plain() {
            return value;
        }
        let digest = self
            .digests
            .seal_indexed(&value.pointer, value.digest.to_be_bytes());
        IndexedValue {
            digest: i64::from_be_bytes(digest),
            pointer: self.seal_pointer(&value.pointer),
        }
    }

    pub(crate) fn open_indexed(&self, value: IndexedValue) -> IndexedValue {
        let Some(pointer) = value.pointer.strip_prefix(POINTER_MARK) else {
            return value;
        };
        let digest = self.digests.open_indexed(pointer, value.digest.to_be_bytes());
        IndexedValue {
            digest: i64::from_be_bytes(digest),
            pointer: pointer.to_owned(),
        }
    }

    pub(crate) fn seal_note(&self, note: BodyNote) -> BodyNote {
        if self.writes_plain() {
            return note;
        }
        if is_binding(&note.scope) {
            let id = self
                .digests
                .seal(Kind::Bound, &bound_to(&note), *note.id.as_bytes());
            return BodyNote {
                id: EventId::from_bytes(id),
                ..note
            };
        }
        let (scope, raw_hash) = self.seal_body_name(&note.scope, note.raw_hash);
        BodyNote {
            scope,
            raw_hash,
            ..note
        }
    }

    /// The scope and the hash under which a body is remembered.
    pub(crate) fn seal_body_name(&self, scope: &Scope, hash: BodyHash) -> (Scope, BodyHash) {
        let tweak = scope.as_str().as_bytes();
        let digest = self.digests.seal(Kind::SameBody, tweak, *hash.as_bytes());
        let scope = format!("{scope}{}", BodyNote::SEALED).into();
        (scope, BodyHash::from_bytes(digest))
    }

    /// A remembered body. Names bound before encryption was turned on look like later ones and are treated the same:
    /// they live for hours.
    pub(crate) fn open_note(&self, note: BodyNote) -> BodyNote {
        if is_binding(&note.scope) {
            if self.writes_plain() {
                return note;
            }
            let id = self
                .digests
                .open(Kind::Bound, &bound_to(&note), *note.id.as_bytes());
            return BodyNote {
                id: EventId::from_bytes(id),
                ..note
            };
        }
        let Some(scope) = note.scope.as_str().strip_suffix(BodyNote::SEALED) else {
            return note;
        };
        let hash = self
            .digests
            .open(Kind::SameBody, scope.as_bytes(), *note.raw_hash.as_bytes());
        BodyNote {
            raw_hash: BodyHash::from_bytes(hash),
            scope: Scope::from(scope),
            ..note
        }
    }

    /// Values of sources are sealed even if events are written in plain: they may be secrets.
    pub(crate) fn seal_value(&self, source: &SourceName, name: &str, value: &[u8]) -> Result<Vec<u8>, Error> {
        let subject = name_of_value(source, name);
        let sealer = self.keys.first().sealer(Subject::new("state", &subject))?;
        sealer.seal(b"value", value)
    }

    /// A value of a source. One from before encryption was turned on is plain, or sealed with `server.state_key`.
    pub(crate) fn open_value(
        &self,
        source: &SourceName,
        name: &str,
        stored: &[u8],
    ) -> Result<Vec<u8>, Unopened> {
        if is_sealed(stored) {
            let subject = name_of_value(source, name);
            let mut opener = self.keys.opener(Subject::new("state", &subject));
            return opener.open(b"value", stored);
        }
        let legacy = self
            .keys
            .all()
            .find_map(|key| key.open_state(source, name, stored));
        Ok(legacy.unwrap_or_else(|| stored.to_vec()))
    }

    /// Whether a value is sealed with the first key.
    pub(crate) fn is_current(&self, value: &[u8]) -> bool {
        is_sealed(value) && KeyId::of_value(value) == Some(self.keys.first().id())
    }

    fn seal_payload(
        &self,
        subject: Subject<'_>,
        headers: &Headers,
        body: &[u8],
    ) -> Result<(Headers, Bytes), Error> {
        let sealer = self.keys.first().sealer(subject)?;
        let headers = sealer.seal(HEADERS, headers.as_bytes())?;
        Ok((Headers::from_bytes(headers), sealer.seal(BODY, body)?.into()))
    }

    fn open_payload(
        &self,
        subject: Subject<'_>,
        headers: &Headers,
        body: &[u8],
    ) -> Result<(Headers, Bytes), Unopened> {
        let mut opener = self.keys.opener(subject);
        let headers = opener.open(HEADERS, headers.as_bytes())?;
        Ok((Headers::from_bytes(headers), opener.open(BODY, body)?.into()))
    }
}

impl ReadStored for Contents {
    fn body<'b>(&self, event: EventId, stored: &'b [u8]) -> Option<Cow<'b, [u8]>> {
        if !is_sealed(stored) {
            return Some(Cow::Borrowed(stored));
        }
        let opened = self.keys.opener(subject_of_event(&event)).open(BODY, stored);
        opened.ok().map(Cow::Owned)
    }

    fn indexed(&self, term: &BodyTerm) -> IndexedValue {
        self.seal_indexed(IndexedValue::of_term(term))
    }
}

const fn subject_of_event(id: &EventId) -> Subject<'_> {
    Subject::new("event", id.as_bytes())
}

/// Unique per conflict of an event, so that none can be shown as another.
fn name_of_conflicting_body(first: EventId, raw_hash: BodyHash) -> Vec<u8> {
    [&first.as_bytes()[..], raw_hash.as_bytes()].concat()
}

fn name_of_value(source: &SourceName, name: &str) -> Vec<u8> {
    format!("{source}\n{name}").into_bytes()
}

/// Whether a ledger entry holds digests instead of hashes.
pub(crate) fn has_digests(entry: &LedgerEntry) -> bool {
    let content = entry.content_hash.as_ref();
    content.is_some_and(|content| content.rule.starts_with(RULE_MARK))
}

/// Whether an indexed value is a digest.
pub(crate) fn is_digest(value: &IndexedValue) -> bool {
    value.pointer.starts_with(POINTER_MARK)
}

/// Whether notes of a scope are names bound to a body; see [`hapax_core::store::Binding::note`].
pub(crate) fn is_binding(scope: &Scope) -> bool {
    scope.as_str().ends_with(BodyNote::BINDINGS)
}

/// The scope and the name of a binding.
pub(crate) fn bound_to(note: &BodyNote) -> Vec<u8> {
    [note.scope.as_str().as_bytes(), note.raw_hash.as_bytes()].concat()
}
