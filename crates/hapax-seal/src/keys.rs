//! The configured keys, and values sealed under them.
//!
//! Every subject (an event, a conflict, a value of a source) has its own key, derived from the configured one. Random
//! nonces are drawn only among the few values of one subject, so no key ever sees two billion of them.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use hapax_core::store::{Error, SEALED_EXTRA_BYTES, SEALED_MARK};
use hapax_core::{Secret, SourceName, SystemRandom};
use sha2::{Digest as _, Sha256};

use crate::mac::Mac;

/// A shorter key can be guessed.
pub const KEY_BYTES_MIN: usize = 32;

const ID_AT: usize = SEALED_MARK.len();
const NONCE_AT: usize = ID_AT + 4;
const TEXT_AT: usize = NONCE_AT + NONCE_LEN;

/// Distinguishes keys without revealing anything about them: eight hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; 4]);

impl KeyId {
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let mut id = [0; 4];
        hex::decode_to_slice(text, &mut id).ok()?;
        Some(Self(id))
    }

    /// The key of a sealed value.
    pub(crate) fn of_value(value: &[u8]) -> Option<Self> {
        value.get(ID_AT..NONCE_AT)?.try_into().ok().map(Self)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How new values of events are written. All keys can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// With the first key.
    Sealed,
    /// In plain: no key yet, or no longer, while keys are rolled out to replicas or withdrawn.
    Plain,
}

#[derive(Debug)]
pub struct Keys {
    writes: Writes,
    first: MasterKey,
    others: Vec<MasterKey>,
}

impl Keys {
    /// The keys made of these strings, each long and random. None if there are none.
    pub fn new(writes: Writes, texts: &[Secret]) -> Option<Self> {
        let mut keys = texts.iter().map(MasterKey::new);
        Some(Self {
            writes,
            first: keys.next()?,
            others: keys.collect(),
        })
    }

    pub(crate) const fn writes(&self) -> Writes {
        self.writes
    }

    /// The id of the key that writes, or would.
    pub const fn first_id(&self) -> KeyId {
        self.first.id
    }

    /// The key that writes, or would.
    pub(crate) const fn first(&self) -> &MasterKey {
        &self.first
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &MasterKey> {
        std::iter::once(&self.first).chain(&self.others)
    }

    pub(crate) fn get(&self, id: KeyId) -> Option<&MasterKey> {
        self.all().find(|key| key.id == id)
    }

    /// What opens the values of one subject.
    pub(crate) const fn opener<'k>(&'k self, subject: Subject<'k>) -> Opener<'k> {
        Opener {
            keys: self,
            subject,
            last: None,
        }
    }
}

/// The owner of values that share a derived key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'s> {
    pub(crate) kind: &'static str,
    pub(crate) name: &'s [u8],
}

impl<'s> Subject<'s> {
    pub(crate) const fn new(kind: &'static str, name: &'s [u8]) -> Self {
        Self { kind, name }
    }
}

/// Why a value could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unopened {
    /// It is sealed with a key that is not configured here.
    MissingKey(KeyId),
    /// It was changed, or belongs elsewhere.
    Refused,
}

impl Unopened {
    /// The store error, naming the event or value.
    pub(crate) fn to_error(self, of: &dyn fmt::Display) -> Error {
        match self {
            Self::MissingKey(id) => Error::Unsupported {
                message: format!(
                    "{of} is encrypted under the key {id}, which is not among the `store.encryption_keys` of this \
                     process; add that key again, after the first"
                ),
            },
            Self::Refused => Error::Damaged {
                message: format!(
                    "{of} cannot be decrypted: its stored bytes were changed, or moved there from another row; restore \
                     that row from a backup"
                ),
                source: None,
            },
        }
    }
}

pub(crate) struct MasterKey {
    id: KeyId,
    root: Mac,
    /// Opens values sealed with `server.state_key`, if this was its text.
    state: Option<LessSafeKey>,
}

impl MasterKey {
    fn new(text: &Secret) -> Self {
        let master = Mac::new(&hashed(b"hapax-encryption-key:v1\n", text));
        let [a, b, c, d, ..] = master.sign(&[b"id"]);
        Self {
            id: KeyId([a, b, c, d]),
            root: Mac::new(&master.sign(&[b"root"])),
            state: aead_key(&hashed(b"hapax-state-key:v1\n", text)),
        }
    }

    pub(crate) const fn id(&self) -> KeyId {
        self.id
    }

    /// The sealer for the values of one subject.
    pub(crate) fn sealer<'s>(&self, subject: Subject<'s>) -> Result<Sealer<'s>, Error> {
        Ok(Sealer {
            id: self.id,
            key: self.derived(subject).ok_or_else(not_sealed)?,
            subject,
        })
    }

    fn derived(&self, subject: Subject<'_>) -> Option<LessSafeKey> {
        let kind = subject.kind.as_bytes();
        let key = self.root.sign(&[&[kind.len() as u8], kind, subject.name]);
        aead_key(&key)
    }

    /// A secret sealed with `server.state_key`.
    pub(crate) fn open_state(&self, source: &SourceName, name: &str, value: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = value.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let place = Aad::from(format!("{source}\n{name}").into_bytes());
        let mut sealed = sealed.to_vec();
        let opened = self.state.as_ref()?.open_in_place(nonce, place, &mut sealed);
        opened.ok().map(|opened| opened.to_vec())
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MasterKey").field(&self.id).finish()
    }
}

/// The text is long and random, so its hash can serve as a key.
fn hashed(domain: &[u8], text: &Secret) -> [u8; 32] {
    let hash = Sha256::new().chain_update(domain);
    hash.chain_update(text.expose()).finalize().into()
}

fn aead_key(key: &[u8; 32]) -> Option<LessSafeKey> {
    UnboundKey::new(&AES_256_GCM, key).ok().map(LessSafeKey::new)
}

/// Seals the values of one subject.
pub(crate) struct Sealer<'s> {
    id: KeyId,
    key: LessSafeKey,
    subject: Subject<'s>,
}

impl Sealer<'_> {
    /// Seals a value that can be opened only as this column of the subject.
    pub(crate) fn seal(&self, column: &[u8], plain: &[u8]) -> Result<Vec<u8>, Error> {
        let nonce: [u8; NONCE_LEN] = SystemRandom::new().draw_ahead().map_err(|_| not_sealed())?;
        let mut value = Vec::with_capacity(plain.len() + SEALED_EXTRA_BYTES as usize);
        value.extend_from_slice(&SEALED_MARK);
        value.extend_from_slice(&self.id.0);
        value.extend_from_slice(&nonce);
        value.extend_from_slice(plain);
        let tag = self.key.seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            place(self.id, self.subject, column),
            &mut value[TEXT_AT..],
        );
        value.extend_from_slice(tag.map_err(|_| not_sealed())?.as_ref());
        Ok(value)
    }
}

/// Opens the values of one subject. Values that share a key cost one derivation.
pub(crate) struct Opener<'k> {
    keys: &'k Keys,
    subject: Subject<'k>,
    last: Option<(KeyId, LessSafeKey)>,
}

impl Opener<'_> {
    /// Opens a value sealed as this column.
    pub(crate) fn open(&mut self, column: &[u8], value: &[u8]) -> Result<Vec<u8>, Unopened> {
        let id = KeyId::of_value(value).ok_or(Unopened::Refused)?;
        let nonce = value.get(NONCE_AT..TEXT_AT).ok_or(Unopened::Refused)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| Unopened::Refused)?;
        if self.last.as_ref().is_none_or(|(last, _)| *last != id) {
            let key = self.keys.get(id).ok_or(Unopened::MissingKey(id))?;
            self.last = Some((id, key.derived(self.subject).ok_or(Unopened::Refused)?));
        }
        let (_, key) = self.last.as_ref().ok_or(Unopened::Refused)?;
        let mut text = value[TEXT_AT..].to_vec();
        let plain = key.open_in_place(nonce, place(id, self.subject, column), &mut text);
        let plain_bytes = plain.map_err(|_| Unopened::Refused)?.len();
        text.truncate(plain_bytes);
        Ok(text)
    }
}

/// Where a value belongs: it is refused in any other place.
fn place(id: KeyId, subject: Subject<'_>, column: &[u8]) -> Aad<Vec<u8>> {
    let mut place = Vec::with_capacity(96);
    place.extend_from_slice(&SEALED_MARK);
    place.extend_from_slice(&id.0);
    for part in [subject.kind.as_bytes(), subject.name, column] {
        place.extend_from_slice(&(part.len() as u32).to_be_bytes());
        place.extend_from_slice(part);
    }
    Aad::from(place)
}

fn not_sealed() -> Error {
    Error::Unavailable {
        message: "a value could not be encrypted: the cryptographic library refused it".to_owned(),
        source: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: Subject<'static> = Subject::new("event", b"0123456789abcdef");

    fn keys(texts: &[&str]) -> Keys {
        let texts: Vec<Secret> = texts.iter().map(|text| Secret::new(text.repeat(32))).collect();
        Keys::new(Writes::Sealed, &texts).unwrap()
    }

    #[test]
    fn a_value_opens_at_its_place_with_its_key_and_nowhere_else() {
        let one = keys(&["a"]);
        let value = one
            .first()
            .sealer(EVENT)
            .unwrap()
            .seal(b"body", b"hunter2")
            .unwrap();
        assert_eq!(value.len() as u64, 7 + SEALED_EXTRA_BYTES);
        assert!(!value.windows(7).any(|window| window == b"hunter2"));
        assert_eq!(one.opener(EVENT).open(b"body", &value).unwrap(), b"hunter2");
        let both = keys(&["b", "a"]);
        assert_eq!(both.opener(EVENT).open(b"body", &value).unwrap(), b"hunter2");
        assert_eq!(one.opener(EVENT).open(b"headers", &value), Err(Unopened::Refused));
        for other in [
            Subject::new("event", b"another"),
            Subject::new("conflict", EVENT.name),
        ] {
            assert_eq!(one.opener(other).open(b"body", &value), Err(Unopened::Refused));
        }
        let missing = Unopened::MissingKey(one.first().id());
        assert_eq!(keys(&["b"]).opener(EVENT).open(b"body", &value), Err(missing));
        for at in 0..value.len() {
            let mut changed = value.clone();
            changed[at] ^= 1;
            if at >= SEALED_MARK.len() {
                assert!(one.opener(EVENT).open(b"body", &changed).is_err(), "byte {at}");
            }
        }
        for length in 0..value.len() {
            assert!(one.opener(EVENT).open(b"body", &value[..length]).is_err());
        }
    }

    #[test]
    fn the_same_value_is_never_sealed_to_the_same_bytes() {
        let keys = keys(&["a"]);
        let sealer = keys.first().sealer(EVENT).unwrap();
        assert_ne!(
            sealer.seal(b"body", b"x").unwrap(),
            sealer.seal(b"body", b"x").unwrap()
        );
    }

    #[test]
    fn nothing_prints_a_key() {
        let keys = keys(&["secret"]);
        assert!(!format!("{keys:?}").contains("secret"));
    }
}
