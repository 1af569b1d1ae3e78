//! Webhook signatures and identities, as data.
//!
//! This crate answers one question, as a pure function of its input: *who sent this request, and which event is it?*
//! It does no I/O, reads no clock and needs no runtime; the caller hands in the bytes and the time of arrival.
//!
//! A [`Scheme`] says where the signature is and what it covers. An [`IdentityRule`] says where the event id and type are.
//! Both are plain data: a preset from the [`catalogue`], or a source's own [`CustomScheme`]. A [`Verifier`] is compiled
//! from them once and then used for every request. The signature is checked over the raw bytes, in constant time, before
//! anything is parsed.
//!
//! ```
//! use hapax_verify::{Request, Verdict, Verifier, catalogue, sign::Signer};
//!
//! let stripe = catalogue::get("stripe").expect("a preset");
//! let secret = "whsec_test_secret";
//! let body = br#"{"id":"evt_1","type":"invoice.paid"}"#;
//!
//! // What the provider does:
//! let signer = Signer::new(&stripe.scheme, secret)?;
//! let headers = signer.sign("evt_1", 1_767_225_600, "POST", "", body);
//!
//! // What the receiver does; any of the secrets may match:
//! let verifier = Verifier::new(stripe.scheme.clone(), stripe.identity.clone(), &["whsec_older", secret])?;
//! let request = Request { method: "POST", url: "", headers: &headers, body, received_at: 1_767_225_601 };
//! let Verdict::Events(events) = verifier.verify(&request)? else { unreachable!() };
//! assert_eq!(events[0].event_id, "evt_1");
//! assert_eq!(events[0].event_type.as_deref(), Some("invoice.paid"));
//! assert_eq!(events[0].secret_index, Some(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The text of an event id
//!
//! An event id has one injective text form, used in the ledger, in headers and in keys; see [`identity`].

pub mod catalogue;
pub mod identity;
pub mod limits;
mod rejection;
mod request;
pub mod sample;
pub mod scheme;
mod setup;
pub mod sign;
mod verdict;
mod verifier;

pub use identity::{Field, FieldList, IdentityRule};
pub use rejection::{IdProblem, Rejection, SignatureProblem};
pub use request::{Headers, Request};
pub use scheme::{Algorithm, CustomScheme, Encoding, Scheme};
pub use setup::{FieldProblem, SecretProblem, SetupError};
pub use verdict::{Envelope, HandshakeAnswer, KeyRequest, Verdict};
pub use verifier::{Step, StepOutcome, Verifier};
