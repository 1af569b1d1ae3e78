//! A shared secret sent with the request: in a header, as basic authentication, or in the query.
//!
//! It proves who sent a request, but nothing about its contents.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::keyed::each_secret;
use super::{Prove, Proven, Setup, Stop};
use crate::delivery::{Delivery, Sign};
use crate::identity::ValuePath;
use crate::options::Options;
use crate::rejection::{Rejection, SignatureProblem};
use crate::request::{Request, query_value};
use crate::setup::{SecretProblem, SetupError};
use crate::trace::Trace;

/// Where a token is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRule {
    /// The locations, in the order in which they are tried; the first that contains anything counts.
    pub places: Vec<TokenPath>,
    /// A prefix that no token has, because it marks secrets of another kind.
    #[serde(default)]
    pub never_begins_with: Option<String>,
    /// The option with the token's parameter name in the query.
    #[serde(default)]
    pub query_option: Option<String>,
}

/// The location of a token.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenPath {
    /// The header with this lower-case name; the token is its whole value.
    Header(String),
    /// A header in which the token follows a prefix such as `Token `, compared without case.
    Prefixed {
        /// The header, in lower case.
        header: String,
        /// The text before the token.
        prefix: String,
    },
    /// `Authorization: Bearer …`.
    Bearer,
    /// `Authorization: Basic …`; the secret is `user:password`.
    Basic,
    /// The value with this name in the query.
    Query(String),
}

impl TokenRule {
    pub(super) fn summary(&self) -> String {
        let places: Vec<String> = self.places.iter().map(TokenPath::name).collect();
        format!("a shared token in {}", places.join(" or "))
    }

    pub(super) fn headers(&self) -> Vec<String> {
        self.places.iter().filter_map(TokenPath::header).collect()
    }

    pub(super) fn takes(&self, secret: &str) -> bool {
        let other = self.never_begins_with.as_deref();
        !other.is_some_and(|prefix| secret.starts_with(prefix))
    }

    /// The locations, adjusted to the source's options.
    fn places(&self, options: &Options) -> Vec<TokenPath> {
        let renamed = self.query_option.as_deref().and_then(|name| options.text(name));
        let place = |place: &TokenPath| match (place, renamed) {
            (TokenPath::Query(_), Some(name)) => TokenPath::Query(name.to_owned()),
            (place, _) => place.clone(),
        };
        self.places.iter().map(place).collect()
    }
}

impl TokenPath {
    /// The header that contains it, in lower case.
    pub(super) fn header(&self) -> Option<String> {
        match self {
            TokenPath::Header(header) | TokenPath::Prefixed { header, .. } => Some(header.clone()),
            TokenPath::Bearer | TokenPath::Basic => Some("authorization".to_owned()),
            TokenPath::Query(_) => None,
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            TokenPath::Header(header) | TokenPath::Prefixed { header, .. } => header.clone(),
            TokenPath::Bearer => "authorization (Bearer)".to_owned(),
            TokenPath::Basic => "authorization (Basic)".to_owned(),
            TokenPath::Query(name) => format!("?{name}="),
        }
    }

    /// The request's value at this location.
    pub(super) fn find(&self, request: &Request<'_>) -> Option<Vec<u8>> {
        let after = |header: &str, prefix: &str| {
            let (found, rest) = request.headers.get(header)?.split_at_checked(prefix.len())?;
            found.eq_ignore_ascii_case(prefix.as_bytes()).then_some(rest)
        };
        match self {
            TokenPath::Header(name) => request.headers.get(name).map(<[u8]>::to_vec),
            TokenPath::Prefixed { header, prefix } => after(header, prefix).map(<[u8]>::to_vec),
            TokenPath::Bearer => after("authorization", "Bearer ").map(<[u8]>::to_vec),
            // Invalid base64 is not a password either, and matches none.
            TokenPath::Basic => {
                after("authorization", "Basic ").map(|text| STANDARD.decode(text).unwrap_or_default())
            }
            TokenPath::Query(name) => query_value(request.query, name).map(String::into_bytes),
        }
    }

    /// Adds a token to a delivery at this location.
    pub(super) fn put(&self, token: &str, delivery: &mut Delivery) {
        match self {
            TokenPath::Header(name) => delivery.set_header(name, token),
            TokenPath::Prefixed { header, prefix } => {
                delivery.set_header(header, &format!("{prefix}{token}"));
            }
            TokenPath::Bearer => delivery.set_header("authorization", &format!("Bearer {token}")),
            TokenPath::Basic => {
                delivery.set_header("authorization", &format!("Basic {}", STANDARD.encode(token)));
            }
            TokenPath::Query(name) => delivery.add_to_query(name, token),
        }
    }
}

pub(super) struct TokenProof {
    places: Vec<TokenPath>,
    secrets: Vec<Vec<u8>>,
}

impl TokenProof {
    pub(super) fn new(rule: &TokenRule, setup: &Setup<'_>) -> Result<Self, SetupError> {
        let places = rule.places(setup.options);
        let is_basic = places == [TokenPath::Basic];
        let secrets = each_secret(setup.secrets, |secret| match secret {
            "" => Err(SecretProblem::Empty),
            secret if is_basic && !secret.contains(':') => Err(SecretProblem::NotUserAndPassword),
            secret => Ok(secret.as_bytes().to_vec()),
        })?;
        Ok(TokenProof { places, secrets })
    }

    fn find(&self, request: &Request<'_>) -> Option<(String, Vec<u8>)> {
        let mut places = self.places.iter();
        places.find_map(|place| Some((place.name(), place.find(request)?)))
    }

    fn missing(&self) -> Rejection {
        let places: Vec<String> = self.places.iter().map(TokenPath::name).collect();
        Rejection::SignatureMissing {
            header: places.join("` or `"),
        }
    }

    fn check(&self, request: &Request<'_>) -> Result<usize, Rejection> {
        let (place, token) = self.find(request).ok_or_else(|| self.missing())?;
        // Every secret is compared, so that the duration does not reveal which one was close.
        let mut matching = None;
        for (index, secret) in self.secrets.iter().enumerate() {
            let equal = verify_slices_are_equal(secret, &token).is_ok();
            if equal && matching.is_none() {
                matching = Some(index);
            }
        }
        matching.ok_or(Rejection::SignatureInvalid {
            header: place,
            problem: SignatureProblem::TokenMismatch,
        })
    }
}

impl Prove for TokenProof {
    fn prove(&self, request: &Request<'_>, trace: &mut Trace<'_>) -> Result<Proven, Stop> {
        let index = trace.step("token", self.check(request), |index| {
            format!("it is secret {} of {}", index + 1, self.secrets.len())
        })?;
        trace.noted("body", || {
            "nothing is signed: anyone who knows the token can send anything".to_owned()
        });
        Ok(Proven {
            secret_index: Some(index),
            ..Proven::default()
        })
    }

    fn applies(&self, request: &Request<'_>) -> bool {
        self.find(request).is_some()
    }

    fn covers(&self, _: &ValuePath) -> bool {
        false
    }
}

pub(super) fn signer(rule: &TokenRule, secret: &str, options: &Options) -> Box<dyn Sign> {
    Box::new(TokenSigner {
        place: rule.places(options).into_iter().next(),
        secret: secret.to_owned(),
    })
}

struct TokenSigner {
    place: Option<TokenPath>,
    secret: String,
}

impl Sign for TokenSigner {
    fn sign(&self, delivery: &mut Delivery) {
        if let Some(place) = &self.place {
            place.put(&self.secret, delivery);
        }
    }

    fn sends_secret(&self) -> bool {
        true
    }
}
