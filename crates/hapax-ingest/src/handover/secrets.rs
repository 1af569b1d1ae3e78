//! The secrets that one source received in handshakes: accepted, looked up again when none matches, and compiled into
//! its verifier.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use hapax_core::store::{Error, NamedValue, ValueSpace, ValueSwap};
use hapax_core::{Backend, Clock, Timestamp};
use hapax_verify::Verifier;
use hapax_verify::limits::SECRETS_MAX;
use tokio::sync::{Mutex, Semaphore};

use super::SECRET_PREFIX;
use hapax_config::Source;
use hapax_engine::registration::{REGISTRATION, open_until};

/// The minimum time between lookups of a source in the store, so that wrong signatures cannot put load on it.
const LOOK_UP_PAUSE: Duration = Duration::from_secs(1);

/// The most requests that wait for a lookup: each keeps its body for this long, and anyone can send a wrong signature.
/// Further requests are verified with the known secrets, and a provider that is refused for this reason retries.
const WAITING_MAX: usize = 8;

/// The secrets that a source received in handshakes, as far as this replica knows.
pub struct HandedSecrets {
    source: Source,
    verifier: ArcSwap<Verifier>,
    waiting: Semaphore,
    /// Locked during a lookup, so that other requests wait.
    looked_up_at: Mutex<Option<Duration>>,
}

/// Why a secret was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    #[error(
        "no registration is open for this source, and without one anyone could send a secret; open one with `hapax \
         register` and create the webhook while it is open"
    )]
    NoRegistration,
    #[error("the secret could not be stored")]
    Store(#[from] Error),
}

impl HandedSecrets {
    /// Starts with the configured secrets. `None` if the provider does not send its secret in a handshake.
    pub fn new(source: &Source) -> Option<Self> {
        if !source.hands_secrets_over() {
            return None;
        }
        Some(Self {
            verifier: ArcSwap::new(Arc::clone(&source.verifier)),
            source: source.clone(),
            waiting: Semaphore::new(WAITING_MAX),
            looked_up_at: Mutex::new(None),
        })
    }

    /// The verifier with all known secrets.
    pub fn verifier(&self) -> Arc<Verifier> {
        self.verifier.load_full()
    }

    /// Accepts a secret if a registration is open. When this returns, the secret is durable and every replica can find
    /// it.
    pub async fn take(&self, store: &dyn Backend, secret: &str, now: Timestamp) -> Result<(), NotTaken> {
        let values = store.values(&self.space()).await?;
        open_until(&values)
            .filter(|until| now < *until)
            .ok_or(NotTaken::NoRegistration)?;
        // Of two concurrent handshakes, only one uses the registration.
        let taken = ValueSwap::take(self.space(), REGISTRATION, Some(kept(secret, now)));
        if !store.swap_value(taken).await?.is_done() {
            return Err(NotTaken::NoRegistration);
        }
        for old in too_many(&values) {
            let gone = ValueSwap::take(self.space(), old.name.as_str(), None);
            store.swap_value(gone).await?;
        }
        self.read(store).await?;
        Ok(())
    }

    /// The verifier with the secrets that other replicas have received so far. Requests that arrive in the pause after
    /// a lookup wait for the next one together, because a secret may have been stored in between.
    pub async fn look_up(&self, store: &dyn Backend, clock: &dyn Clock) -> Result<Arc<Verifier>, Error> {
        let Ok(_waiting) = self.waiting.try_acquire() else {
            return Ok(self.verifier());
        };
        let arrived_at = clock.elapsed();
        let mut last = self.looked_up_at.lock().await;
        if last.is_some_and(|last| last >= arrived_at) {
            return Ok(self.verifier());
        }
        if let Some(last) = *last {
            tokio::time::sleep((last + LOOK_UP_PAUSE).saturating_sub(clock.elapsed())).await;
        }
        *last = Some(clock.elapsed());
        self.read(store).await
    }

    async fn read(&self, store: &dyn Backend) -> Result<Arc<Verifier>, Error> {
        let values = store.values(&self.space()).await?;
        let configured = self
            .source
            .secrets
            .iter()
            .map(|secret| secret.expose().to_owned());
        let handed = secrets_of(&values).filter_map(|value| String::from_utf8(value.value.clone()).ok());
        let secrets: Vec<String> = configured.chain(handed).take(SECRETS_MAX).collect();
        match Verifier::new(&self.source.recipe, &secrets, &self.source.options) {
            Ok(verifier) => self.verifier.store(Arc::new(verifier)),
            Err(error) => {
                tracing::error!(source = %self.source.name, %error, "a secret from a handshake cannot be used");
            }
        }
        Ok(self.verifier())
    }

    fn space(&self) -> ValueSpace {
        ValueSpace::Source(self.source.name.clone())
    }
}

/// A secret as the store keeps it. The time is zero-padded, so that names sort by time.
fn kept(secret: &str, now: Timestamp) -> NamedValue {
    NamedValue::new(format!("{SECRET_PREFIX}{:020}", now.as_micros()), secret)
}

/// The secrets among a source's values, newest first.
fn secrets_of(values: &[NamedValue]) -> impl Iterator<Item = &NamedValue> {
    let values = values.iter().rev();
    values.filter(|value| value.name.starts_with(SECRET_PREFIX))
}

/// The oldest secrets, which are removed to make room for a new one.
fn too_many(values: &[NamedValue]) -> impl Iterator<Item = &NamedValue> {
    secrets_of(values).skip(SECRETS_MAX - 1)
}

impl std::fmt::Debug for HandedSecrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("HandedSecrets")
            .field("source", &self.source.name)
            .finish_non_exhaustive()
    }
}
