//! One source's handed-over secrets: taken, looked up again when none matches, and compiled into its verifier.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use hapax_core::store::{Error, SourceState};
use hapax_core::{Backend, Clock, SourceName, Timestamp};
use hapax_verify::Verifier;
use hapax_verify::limits::SECRETS_MAX;
use tokio::sync::{Mutex, Semaphore};

use super::SECRET_PREFIX;
use hapax_config::Source;
use hapax_engine::registration::{REGISTRATION, open_until};

/// How long a source is not looked up again in the store: whoever sends wrong signatures must not make it work.
const LOOK_UP_PAUSE: Duration = Duration::from_secs(1);

/// How many requests wait for that: each keeps its body this long, and anyone can send a wrong signature. More are judged
/// by what is known, and a sender that is refused so delivers again.
const WAITING_MAX: usize = 8;

/// The secrets that a source was handed, as far as this replica knows.
pub struct HandedSecrets {
    source: Source,
    verifier: ArcSwap<Verifier>,
    waiting: Semaphore,
    /// Held while someone looks, so that the others wait.
    looked_up_at: Mutex<Option<Duration>>,
}

/// Why a secret was not taken.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    /// No one asked for one.
    #[error(
        "no registration is open for this source, and anybody could hand over a secret; open one with `hapax register` \
         and create the webhook while it is open"
    )]
    NoRegistration,
    /// It could not be stored.
    #[error("the secret could not be stored")]
    Store(#[from] Error),
}

impl HandedSecrets {
    /// Of this source, which begins with the secrets that are configured. `None` where its sender hands none over.
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

    /// The verifier with all that is known.
    pub fn verifier(&self) -> Arc<Verifier> {
        self.verifier.load_full()
    }

    /// Takes a secret over, if a registration is open. When this returns, it is durable and every replica finds it.
    pub async fn take(&self, store: &dyn Backend, secret: &str, now: Timestamp) -> Result<(), NotTaken> {
        let name = &self.source.name;
        let states = store.source_states().await?;
        open_until(&states, name)
            .filter(|until| now < *until)
            .ok_or(NotTaken::NoRegistration)?;
        let state = self.state(secret, now);
        // Of two senders at once, one takes the registration.
        if !store.take_source_state(name, REGISTRATION, Some(state)).await? {
            return Err(NotTaken::NoRegistration);
        }
        for old in too_many(&states, name) {
            store.take_source_state(name, &old.name, None).await?;
        }
        self.read(store).await?;
        Ok(())
    }

    /// The verifier with what other replicas were handed until now. Whoever comes in the pause after a look into the
    /// store waits for the next one, together with all others: a secret may have been handed over in between.
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
        let states = store.source_states().await?;
        let configured = self
            .source
            .secrets
            .iter()
            .map(|secret| secret.expose().to_owned());
        let handed = secrets_of(&states, &self.source.name)
            .filter_map(|state| String::from_utf8(state.value.clone()).ok());
        let secrets: Vec<String> = configured.chain(handed).take(SECRETS_MAX).collect();
        match Verifier::new(&self.source.recipe, &secrets, &self.source.options) {
            Ok(verifier) => self.verifier.store(Arc::new(verifier)),
            Err(error) => {
                tracing::error!(source = %self.source.name, %error, "a handed-over secret cannot be used");
            }
        }
        Ok(self.verifier())
    }

    fn state(&self, secret: &str, now: Timestamp) -> SourceState {
        SourceState {
            source: self.source.name.clone(),
            // Zero-padded, so that names are in the order of time.
            name: format!("{SECRET_PREFIX}{:020}", now.as_micros()),
            value: secret.as_bytes().to_vec(),
        }
    }
}

/// The secrets of a source, newest first.
fn secrets_of<'a>(
    states: &'a [SourceState],
    source: &'a SourceName,
) -> impl Iterator<Item = &'a SourceState> {
    let states = states.iter().rev();
    states.filter(move |state| state.source == *source && state.name.starts_with(SECRET_PREFIX))
}

/// The oldest secrets, which make room for a new one.
fn too_many<'a>(states: &'a [SourceState], source: &'a SourceName) -> impl Iterator<Item = &'a SourceState> {
    secrets_of(states, source).skip(SECRETS_MAX - 1)
}

impl std::fmt::Debug for HandedSecrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("HandedSecrets")
            .field("source", &self.source.name)
            .finish_non_exhaustive()
    }
}
