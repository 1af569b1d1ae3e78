//! The verifier: a recipe and secrets, compiled once and used for every request.
//!
//! The order is fixed: handshakes that cannot be verified, the proof over the raw bytes, verified handshakes, and only
//! then the events in the body.

use crate::form::Form;
use crate::handshake::Knowledge;
use crate::identity::{IdentityRule, ValuePath};
use crate::keys::KeyRequest;
use crate::options::Options;
use crate::proof::{Prove, Proven, Setup, Stop};
use crate::recipe::{Recipe, SecretNeed};
use crate::rejection::Rejection;
use crate::request::Request;
use crate::resolve::CompiledRule;
use crate::setup::SetupError;
use crate::trace::{Step, Trace};
use crate::verification::{Envelope, Identification, Verification};

/// Verifies and identifies the requests of one source.
pub struct Verifier {
    proof: Box<dyn Prove>,
    identity: CompiledRule,
    credentials: Vec<String>,
    recipe: Recipe,
    secrets: Vec<String>,
    options: Options,
}

/// The result of checking only who sent a request.
#[derive(Debug)]
pub enum Authentication {
    /// It is genuine.
    Genuine(Genuine),
    /// The signature can be verified only with a key that must be fetched first.
    NeedsKey(KeyRequest),
}

/// A request that is known to be genuine, and whose event was not read yet.
#[derive(Debug)]
pub struct Genuine(Proven);

impl Genuine {
    /// Whether a transmission is signed in place of the body. Then the body proves nothing until the caller has compared
    /// it with the first one of the transmission, which [`Verifier::identify`] names.
    pub fn has_transmission(&self) -> bool {
        self.0.transmission.is_some()
    }
}

impl Verifier {
    /// Compiles a verifier. Any of the secrets may match, which allows rotation without a gap.
    pub fn new<S: AsRef<str>>(recipe: &Recipe, secrets: &[S], options: &Options) -> Result<Self, SetupError> {
        let secrets: Vec<&str> = secrets.iter().map(AsRef::as_ref).collect();
        if secrets.is_empty() && recipe.secrets == SecretNeed::Required {
            return Err(SetupError::NoSecrets);
        }
        let setup = Setup {
            secrets: &secrets,
            options,
        };
        let proof = recipe.proof.compile(&setup)?;
        let identity = CompiledRule::new(recipe.identity.clone(), &*proof)?;
        Ok(Verifier {
            proof,
            identity,
            credentials: recipe.proof.credentials(),
            recipe: recipe.clone(),
            secrets: secrets.into_iter().map(str::to_owned).collect(),
            options: options.clone(),
        })
    }

    /// Verifies a request and identifies its events, or returns why it is refused.
    pub fn verify(&self, request: &Request<'_>) -> Result<Verification, Rejection> {
        self.walk(request, &mut Trace::Off)
    }

    /// The first half of [`Verifier::verify`], for a caller that may know the body: checks who sent the request, and
    /// reads nothing of it. [`Verifier::identify`] is the second half.
    ///
    /// `None` if more than the body says which events a request contains. Otherwise it contains one event, and equal
    /// bodies are the same event.
    pub fn authenticate(&self, request: &Request<'_>) -> Option<Result<Authentication, Rejection>> {
        let is_body_all = request.method == "POST"
            && self.recipe.handshakes.is_empty()
            && self.identity.reads_only_the_body()
            && !Form::new(request.headers, request.body).is_multipart();
        if !is_body_all {
            return None;
        }
        match self.proof.prove(request, &mut Trace::Off) {
            Ok(proven) => Some(Ok(Authentication::Genuine(Genuine(proven)))),
            Err(Stop::NeedsKey(key)) => Some(Ok(Authentication::NeedsKey(key))),
            Err(Stop::Rejected(rejection)) => Some(Err(rejection)),
        }
    }

    /// The event of a genuine request: the second half of [`Verifier::verify`].
    pub fn identify(&self, request: &Request<'_>, genuine: &Genuine) -> Result<Verification, Rejection> {
        self.read_events(request, &genuine.0, &mut Trace::Off)
    }

    /// Explains step by step why the request is accepted or refused. It stops at the first step that fails, as `verify`
    /// does.
    pub fn explain(&self, request: &Request<'_>) -> Vec<Step> {
        let mut steps = Vec::new();
        // The rejection is already the last step.
        let _ = self.walk(request, &mut Trace::On(&mut steps));
        steps
    }

    /// Refuses a request from its headers alone if no body could make it valid: the proof belongs in the headers and is
    /// missing. A request that passes is not verified yet.
    ///
    /// This only looks up headers and hashes nothing, so a stranger's body need not even be read.
    pub fn check_head(&self, head: &Request<'_>) -> Result<(), Rejection> {
        let body_may_tell =
            self.proof.is_in_body() || self.recipe.handshakes.iter().any(|one| one.is_in_body());
        if body_may_tell || self.proof.applies(head) || self.unverified(head).is_some() {
            return Ok(());
        }
        match self.proof.prove(head, &mut Trace::Off) {
            Err(Stop::Rejected(rejection @ Rejection::SignatureMissing { .. })) => Err(rejection),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Where the ids are, what they guarantee, and the version of the rule.
    pub fn identity(&self) -> &IdentityRule {
        self.identity.rule()
    }

    /// Whether the signature covers the event id. If it does not, an attacker can replay an old body under a new id.
    pub fn id_is_signed(&self) -> bool {
        self.identity.id_is_signed()
    }

    /// Whether the signature covers every byte of the body.
    pub fn body_is_signed(&self) -> bool {
        self.proof.covers(&ValuePath::RequestSha256)
    }

    /// Whether a header is sufficient on its own to prove who sent a request, so that it must not be stored
    /// ([`Proof::credentials`]).
    ///
    /// [`Proof::credentials`]: crate::Proof::credentials
    pub fn is_credential(&self, header: &str) -> bool {
        self.credentials
            .iter()
            .any(|credential| credential.eq_ignore_ascii_case(header))
    }

    /// Whether a request with this method may be a delivery. Any other is a check of the URL or a handshake.
    pub fn delivers_by(&self, method: &str) -> bool {
        match method {
            "GET" => self.recipe.delivers_by_get,
            "HEAD" | "OPTIONS" => false,
            _ => true,
        }
    }

    /// Whether the proof is valid, regardless of its time.
    pub(crate) fn proves(&self, request: &Request<'_>) -> bool {
        match self.proof.prove(request, &mut Trace::Off) {
            Ok(_) => true,
            Err(Stop::Rejected(Rejection::TimestampOutOfRange {
                signed_at: Some(received_at),
                ..
            })) => {
                let then = Request {
                    received_at,
                    ..*request
                };
                self.proof.prove(&then, &mut Trace::Off).is_ok()
            }
            Err(_) => false,
        }
    }

    pub(crate) fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    pub(crate) fn secrets(&self) -> &[String] {
        &self.secrets
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// The response to a handshake that the proof cannot verify.
    fn unverified(&self, request: &Request<'_>) -> Option<Result<Verification, Rejection>> {
        let knowledge = self.knowledge();
        let mut handshakes = self.recipe.handshakes.iter();
        handshakes.find_map(|handshake| handshake.unverified(request, &knowledge))
    }

    fn knowledge(&self) -> Knowledge<'_> {
        Knowledge {
            secrets: &self.secrets,
            options: &self.options,
        }
    }

    fn walk(&self, request: &Request<'_>, trace: &mut Trace<'_>) -> Result<Verification, Rejection> {
        if let Some(answered) = self.unverified(request) {
            return trace.step("handshake", answered, |_| "answered as it is".to_owned());
        }
        let proven = match self.proof.prove(request, trace) {
            Ok(proven) => proven,
            Err(Stop::Rejected(rejection)) => return Err(rejection),
            Err(Stop::NeedsKey(key)) => {
                trace.noted("key", || format!("has to be fetched from {}", key.url));
                return Ok(Verification::NeedsKey(key));
            }
        };
        let knowledge = self.knowledge();
        let verified = self
            .recipe
            .handshakes
            .iter()
            .find_map(|handshake| handshake.verified(request, &knowledge, proven.secret_index));
        if let Some(answered) = verified {
            return trace.step("handshake", answered, |_| "proven, and answered".to_owned());
        }
        self.read_events(request, &proven, trace)
    }

    fn read_events(
        &self,
        request: &Request<'_>,
        proven: &Proven,
        trace: &mut Trace<'_>,
    ) -> Result<Verification, Rejection> {
        let events = self.identity.events(request, proven);
        let events = trace.step("event id", events, |events| describe(events))?;
        if !self.identity.id_is_signed() {
            trace.noted("event id", || {
                "the signature does not cover it, so an attacker could change it in a replay".to_owned()
            });
        }
        for event in &events {
            trace.noted("event type", || {
                event.event_type.clone().unwrap_or_else(|| "none".to_owned())
            });
        }
        Ok(Verification::Events(events))
    }
}

fn describe(events: &[Envelope]) -> String {
    let one = |event: &Envelope| match event.identification {
        Identification::ByProvider => event.event_id.clone(),
        Identification::Never => "none: no event is a duplicate of another".to_owned(),
        Identification::Missing => format!("none, so it is quarantined as {}", event.event_id),
    };
    match events {
        [] => "a request without events".to_owned(),
        events => events.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Keys, secrets and options are omitted on purpose.
        formatter
            .debug_struct("Verifier")
            .field("secrets", &self.secrets.len())
            .finish_non_exhaustive()
    }
}
