//! Verifies a request with its source's verifier, and again with keys that had to be fetched, or with secrets that the
//! store has and this replica does not know yet.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hapax::answer::code_of;
use hapax_core::Timestamp;
use hapax_engine::Recalled;
use hapax_verify::{Authentication, KeyRequest, Rejection, Verification, Verifier};
use http::Method;
use http::request::Parts;
use tokio::time::{Instant, timeout_at};

use super::diagnosis::{self, Case};
use super::keys::Outcome;
use super::{Deadline, Inner, Source, refused};
use hapax_api::problem::Problem;

/// The most fetches for one request: PayPal's certificate, an access token, and PayPal's answer about the signature.
const KEYS_MAX: usize = 3;
/// How long all of them together may take: shorter than these providers wait for us.
const KEYS_WAIT_MAX: Duration = Duration::from_secs(8);

/// A verified request, read as far as necessary.
pub(super) enum Verified {
    Read(Verification, BodySays),
    /// A duplicate of a known event: its body has arrived before, and nothing but the body says which event it is.
    Known(Recalled),
}

/// Whether the body alone says which event a request is.
#[derive(Clone, Copy)]
pub(super) enum BodySays {
    All,
    NotAll,
}

impl Verified {
    /// Whether the request is authenticated. A handshake may come from anyone.
    pub(super) const fn is_proven(&self) -> bool {
        match self {
            Self::Known(_) | Self::Read(Verification::Events(_) | Verification::Confirmation(_), _) => true,
            Self::Read(
                Verification::Handshake(_) | Verification::Registration(_) | Verification::NeedsKey(_),
                _,
            ) => false,
        }
    }
}

/// Refuses a request that can be neither a delivery nor a handshake before its body is read.
pub(super) fn check_method(method: &Method) -> Result<(), Problem> {
    match *method {
        Method::POST | Method::GET | Method::HEAD | Method::OPTIONS => Ok(()),
        _ => Err(refused::method_not_allowed(method)),
    }
}

impl Inner {
    /// Refuses a request without its proof before its body is read, because no body could make it genuine.
    pub(super) fn check_head(
        &self,
        source: &Source,
        head: &Parts,
        received_at: Timestamp,
    ) -> Result<(), Problem> {
        let request = hapax_verify::Request::new(&head.headers, b"", received_at.as_seconds())
            .method(head.method.as_str())
            .query(head.uri.query().unwrap_or_default());
        source.verifier.check_head(&request).map_err(|rejection| {
            self.explain(&rejection, source, head, &Bytes::new(), received_at);
            refusal(source, head, &rejection)
        })
    }

    pub(super) async fn verify(
        &self,
        source: &Source,
        head: &Parts,
        body: &Bytes,
        received_at: Timestamp,
        deadline: Deadline,
    ) -> Result<Verified, Problem> {
        let url = source.url(&head.uri);
        let ask = |verifier: &Verifier| {
            let keys = self.keys.keys_of(&source.name);
            let request = hapax_verify::Request::new(&head.headers, body, received_at.as_seconds())
                .method(head.method.as_str())
                .url(&url)
                .query(head.uri.query().unwrap_or_default())
                .keys(&keys);
            let verified = self.read(source, verifier, &request);
            if verified.as_ref().is_ok_and(Verified::is_proven) {
                keys.proved();
            }
            verified
        };
        let mut verified = ask(&source.verifier());
        let mut waiting_until = None;
        for _ in 0..KEYS_MAX {
            let Ok(Verified::Read(Verification::NeedsKey(key), _)) = &verified else {
                break;
            };
            let until = *waiting_until.get_or_insert_with(|| Instant::now() + KEYS_WAIT_MAX);
            Box::pin(self.fetch(source, key.clone(), until)).await?;
            verified = ask(&source.verifier());
        }
        if is_unproven(&verified)
            && let Some(newer) = deadline.keep(Box::pin(self.newer_verifier(source))).await??
        {
            verified = ask(&newer);
        }
        if let Err(rejection) = &verified {
            self.explain(rejection, source, head, body, received_at);
        }
        match verified {
            // A request that only probes the URL is not a delivery, whatever it contains.
            Ok(Verified::Read(Verification::Events(_), _))
                if !source.verifier.delivers_by(head.method.as_str()) =>
            {
                Err(refused::method_not_allowed(&head.method))
            }
            Ok(verified) => Ok(verified),
            Err(rejection) => Err(refusal(source, head, &rejection)),
        }
    }

    /// Verifies a request, and reads its events unless its body is that of a known duplicate.
    fn read(
        &self,
        source: &Source,
        verifier: &Verifier,
        request: &hapax_verify::Request<'_>,
    ) -> Result<Verified, Rejection> {
        let Some(authentication) = verifier.authenticate(request) else {
            let verification = verifier.verify(request)?;
            return Ok(Verified::Read(verification, BodySays::NotAll));
        };
        let genuine = match authentication? {
            Authentication::Genuine(genuine) => genuine,
            Authentication::NeedsKey(key) => {
                return Ok(Verified::Read(Verification::NeedsKey(key), BodySays::NotAll));
            }
        };
        if genuine.has_transmission() {
            let verification = verifier.identify(request, &genuine)?;
            return Ok(Verified::Read(verification, BodySays::NotAll));
        }
        if let Some(recalled) = self.recall(source, request.body) {
            return Ok(Verified::Known(recalled));
        }
        let verification = verifier.identify(request, &genuine)?;
        Ok(Verified::Read(verification, BodySays::All))
    }

    fn recall(&self, source: &Source, body: &[u8]) -> Option<Recalled> {
        if !self.engine.knows_bodies() {
            return None;
        }
        let fingerprint = source.fingerprints.as_ref()?.of(body)?;
        self.engine.recall(fingerprint)
    }

    async fn fetch(&self, source: &Source, key: KeyRequest, until: Instant) -> Result<(), Problem> {
        let key_id = key.key_id.clone();
        match timeout_at(until, self.keys.fetch(&source.name, key)).await {
            Ok(Outcome::Known) => Ok(()),
            Ok(Outcome::Unknown) => Err(refused::key_unknown(&key_id)),
            Ok(Outcome::Unavailable) | Err(_) => Err(refused::key_unavailable(&key_id)),
        }
    }

    /// A verifier with the secrets that other replicas have received; `None` if the provider does not send any.
    async fn newer_verifier(&self, source: &Source) -> Result<Option<Arc<Verifier>>, Problem> {
        let Some(handed) = &source.handed else {
            return Ok(None);
        };
        let store = self.engine.store();
        handed
            .look_up(&**store, &*self.clock)
            .await
            .map(Some)
            .map_err(|_| refused::store_unavailable())
    }

    /// Diagnoses why a request is refused, for the log, unless another diagnosis was made just before.
    fn explain(
        &self,
        rejection: &Rejection,
        source: &Source,
        head: &Parts,
        body: &Bytes,
        received_at: Timestamp,
    ) {
        if !diagnosis::is_open(rejection, body) || !self.pace.admits(self.clock.elapsed()) {
            return;
        }
        let case = Case {
            sources: self.sources.load_full(),
            source: source.name.clone(),
            meter: Arc::clone(&source.meter),
            verifier: source.verifier(),
            url: source.url(&head.uri).into_owned(),
            head: head.clone(),
            body: body.clone(),
            received_at,
            code: code_of(rejection),
        };
        case.explain_later();
    }
}

/// The problem for a rejected request.
fn refusal(source: &Source, head: &Parts, rejection: &Rejection) -> Problem {
    let is_handshake = matches!(rejection, Rejection::HandshakeRefused { .. });
    if is_handshake || source.verifier.delivers_by(head.method.as_str()) {
        refused::rejection(rejection)
    } else {
        // Neither a delivery nor a handshake: the response lists the allowed methods.
        refused::method_not_allowed(&head.method)
    }
}

fn is_unproven(verified: &Result<Verified, Rejection>) -> bool {
    verified
        .as_ref()
        .is_err_and(|rejection| rejection.status() == 401)
}
