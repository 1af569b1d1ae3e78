//! Webhook signatures and identities, as data.
//!
//! This crate answers one question, as a pure function of its input: *who sent this request, and which event is it?* It
//! does no I/O, reads no clock and needs no runtime; the caller passes in the bytes and the time of arrival.
//!
//! A [`Proof`] describes how a provider proves its identity, such as by a [`Scheme`]: where the signature is and what
//! it covers. An [`IdentityRule`] describes where the event id and type are. Both are plain data: a preset from the
//! [`catalogue`], or a source's own [`CustomScheme`]. A [`Verifier`] is compiled from them once and then used for every
//! request. The signature is checked over the raw bytes, in constant time, before anything is parsed.
//!
//! ```
//! use hapax_verify::sign::{Delivery, ProviderSigner};
//! use hapax_verify::{Options, Request, Verification, Verifier, catalogue};
//!
//! let stripe = catalogue::get("stripe").expect("a preset");
//! let secret = "whsec_test_secret";
//!
//! // The provider signs a delivery:
//! let signer = ProviderSigner::new(stripe, secret, &Options::default())?;
//! let delivery = signer.sign(Delivery {
//!     id: "evt_1".to_owned(),
//!     timestamp: 1_767_225_600,
//!     body: br#"{"id":"evt_1","type":"invoice.paid"}"#.to_vec(),
//!     ..Delivery::default()
//! });
//!
//! // The receiver verifies it; any of the secrets may match:
//! let verifier = Verifier::new(&stripe.recipe(), &["whsec_older", secret], &Options::default())?;
//! let request = Request::new(&delivery.headers, &delivery.body, 1_767_225_601);
//! let Verification::Events(events) = verifier.verify(&request)? else { unreachable!() };
//! assert_eq!(events[0].event_id, "evt_1");
//! assert_eq!(events[0].event_type.as_deref(), Some("invoice.paid"));
//! assert_eq!(events[0].secret_index, Some(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The text of an event id
//!
//! An event id has one injective text form, used in the ledger, in headers and in keys; see [`identity`].

#![warn(missing_docs)]

mod answer;
pub mod catalogue;
mod custom;
mod delivery;
pub mod diagnose;
mod encoding;
mod form;
mod handshake;
mod id_shape;
pub mod identity;
mod keys;
pub mod limits;
mod options;
mod pem;
mod proof;
mod recipe;
mod rejection;
mod request;
mod resolve;
pub mod sample;
pub mod scheme;
mod secret_pair;
mod setup;
pub mod sign;
mod trace;
pub mod vectors;
mod verification;
mod verifier;

pub use answer::{AnswerBody, AnswerRule};
pub use custom::{CustomKind, CustomScheme};
pub use encoding::Encoding;
pub use handshake::Handshake;
pub use identity::{Field, FieldList, IdClass, IdRule, IdentityRule, OnConflict, Split};
pub use keys::{KeyKind, KeyRequest, Keys, NoKeys, Question};
pub use options::{OptionKind, OptionSpec, OptionValue, Options};
pub use proof::{BodyHashClaim, Coded, JwtAlgorithm, JwtRule, Proof, TokenPath, TokenRule};
pub use recipe::{Recipe, SecretNeed};
pub use rejection::{IdProblem, Rejection, SignatureProblem};
pub use request::{Headers, Request};
pub use scheme::{Algorithm, Scheme};
pub use setup::{FieldProblem, SecretProblem, SetupError};
pub use trace::{Step, StepOutcome};
pub use verification::{
    Confirmation, ContentHash, Envelope, EventBody, HandshakeAnswer, Identification, Registration,
    Transmission, Verification,
};
pub use verifier::{Authentication, Genuine, Verifier};
