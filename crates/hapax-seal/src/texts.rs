//! Sealed strings: values in text columns, such as the excerpt of a response.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use hapax_core::store::{AttemptView, Error};
use hapax_core::{Attempt, DestinationId, EventId, Token};

use crate::keys::{KeyId, Keys, Opener, Sealer, Subject, Unopened, Writes};

/// Prefix of a sealed string.
const MARK: &str = "\u{1}hxs1:";

/// The attempt that a string belongs to.
struct Column<'a>(&'static str, &'a DestinationId, Token);

impl Column<'_> {
    fn bytes(&self) -> Vec<u8> {
        format!("{}\n{}\n{}", self.0, self.2.0, self.1).into_bytes()
    }
}

/// Seals the excerpt and message of an attempt.
pub(crate) fn seal_attempt(
    keys: &Keys,
    event: EventId,
    (to, token): (&DestinationId, Token),
    attempt: Attempt,
) -> Result<Attempt, Error> {
    if keys.writes() == Writes::Plain || says_nothing(&attempt) {
        return Ok(attempt);
    }
    let sealer = keys.first().sealer(Subject::new("attempt", event.as_bytes()))?;
    let message = attempt.message.as_deref();
    Ok(Attempt {
        excerpt: seal(&sealer, &Column("excerpt", to, token), &attempt.excerpt)?,
        message: message
            .map(|message| seal(&sealer, &Column("message", to, token), message))
            .transpose()?,
        ..attempt
    })
}

/// Opens the excerpts and messages of an event's attempts.
pub(crate) fn open_attempts(keys: &Keys, event: EventId, views: &mut [AttemptView]) -> Result<(), Error> {
    let mut opener = keys.opener(Subject::new("attempt", event.as_bytes()));
    for view in views {
        let attempt = &mut view.attempt;
        let column = |name| Column(name, &view.destination, view.token);
        attempt.excerpt = open(&mut opener, event, &column("excerpt"), &attempt.excerpt)?;
        if let Some(message) = &mut attempt.message {
            *message = open(&mut opener, event, &column("message"), message)?;
        }
    }
    Ok(())
}

/// The key of an attempt's strings; none if they are plain.
pub(crate) fn key_of(attempt: &Attempt) -> Option<KeyId> {
    let message = attempt.message.as_deref().unwrap_or_default();
    let said = [attempt.excerpt.as_str(), message];
    let value = said.into_iter().find_map(sealed_value)?;
    KeyId::of_value(&value)
}

/// Whether an attempt has no excerpt or message.
pub(crate) fn says_nothing(attempt: &Attempt) -> bool {
    attempt.excerpt.is_empty() && attempt.message.as_deref().unwrap_or_default().is_empty()
}

/// An attempt's strings, under the first key.
pub(crate) fn reseal_attempt(keys: &Keys, event: EventId, view: AttemptView) -> Result<AttemptView, Error> {
    let mut views = [view];
    open_attempts(keys, event, &mut views)?;
    let [view] = views;
    let at = (&view.destination, view.token);
    let attempt = seal_attempt(keys, event, at, view.attempt.clone())?;
    Ok(AttemptView { attempt, ..view })
}

/// The value in a sealed string.
fn sealed_value(text: &str) -> Option<Vec<u8>> {
    let value = text.strip_prefix(MARK)?;
    BASE64_STANDARD_NO_PAD.decode(value).ok()
}

fn seal(sealer: &Sealer<'_>, column: &Column<'_>, text: &str) -> Result<String, Error> {
    if text.is_empty() {
        return Ok(String::new());
    }
    let value = sealer.seal(&column.bytes(), text.as_bytes())?;
    Ok(format!("{MARK}{}", BASE64_STANDARD_NO_PAD.encode(value)))
}

/// The plain string. One that only looks sealed, because a destination answered so before encryption was turned on, is
/// returned as it is.
fn open(opener: &mut Opener<'_>, event: EventId, column: &Column<'_>, text: &str) -> Result<String, Error> {
    let Some(value) = sealed_value(text) else {
        return Ok(text.to_owned());
    };
    match opener.open(&column.bytes(), &value) {
        Ok(plain) => {
            String::from_utf8(plain).map_err(|_| Unopened::Refused.to_error(&format_args!("event {event}")))
        }
        Err(Unopened::MissingKey(id)) => Ok(format!(
            "(encrypted under the key {id}, which this process does not have)"
        )),
        Err(unopened) => Err(unopened.to_error(&format_args!("an attempt of event {event}"))),
    }
}
