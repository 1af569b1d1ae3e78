//! Proofs that are code: providers whose signatures no [`Scheme`](crate::Scheme) can describe. One file each.

use serde::Deserialize;

use super::{Prove, Setup, adyen, aws_sns, braintree, contentful, hubspot, mailgun, paypal, plaid, twilio};
use crate::sign::{SecretPair, Sign};
use crate::{Options, SetupError};

/// A provider with its own way of signing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coded {
    /// Signs fields of each payment item, or the body of a platform webhook.
    Adyen,
    /// Signs fields of the message, with a key whose certificate the message names.
    AwsSns,
    /// Sends a form with a signed payload that contains XML.
    Braintree,
    /// Signs the request in a canonical form.
    Contentful,
    /// Signs method, URL, body and timestamp.
    Hubspot,
    /// Signs a timestamp and a token inside the body.
    Mailgun,
    /// Signs a checksum of the body, with a key whose certificate a header names.
    Paypal,
    /// Sends a token that names the hash of the body, with a key that is fetched.
    Plaid,
    /// Signs the URL and the fields of the form.
    Twilio,
}

/// The interface of a proof that is code.
pub(crate) trait Code {
    /// Compiles the proof with its secrets.
    fn compile(&self, setup: &Setup<'_>) -> Result<Box<dyn Prove>, SetupError>;

    /// Creates a signer that acts as the provider.
    fn signer(&self, secret: &str, options: &Options) -> Result<Box<dyn Sign>, SetupError>;

    /// A short description.
    fn summary(&self) -> &'static str;

    /// The headers that hold the proof, in lower case; empty if it is in the body.
    fn headers(&self) -> &'static [&'static str] {
        &[]
    }

    /// The fields of a body that prove who sent it and would be valid with another body as well.
    fn body_credentials(&self) -> &'static [&'static str] {
        &[]
    }

    /// The default tolerance for a signed timestamp; `None` if none is checked.
    fn tolerance_seconds(&self) -> Option<u32> {
        None
    }

    /// Whether the public URL is signed.
    fn covers_url(&self) -> bool {
        false
    }

    /// A new secret, from the caller's randomness.
    fn secret_pair(&self, random: &[u8; 32]) -> SecretPair {
        SecretPair::shared(hex::encode(random))
    }
}

impl Coded {
    pub(crate) fn code(self) -> &'static dyn Code {
        match self {
            Coded::Adyen => &adyen::Adyen,
            Coded::AwsSns => &aws_sns::AwsSns,
            Coded::Braintree => &braintree::Braintree,
            Coded::Contentful => &contentful::Contentful,
            Coded::Hubspot => &hubspot::Hubspot,
            Coded::Mailgun => &mailgun::Mailgun,
            Coded::Paypal => &paypal::Paypal,
            Coded::Plaid => &plaid::Plaid,
            Coded::Twilio => &twilio::Twilio,
        }
    }
}
