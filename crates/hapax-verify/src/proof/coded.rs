//! The proofs that are code: senders whose way of signing no [`Scheme`](crate::Scheme) describes. One file each.

use serde::Deserialize;

use super::{Prove, Setup, adyen, aws_sns, braintree, contentful, hubspot, mailgun, paypal, plaid, twilio};
use crate::sign::{SecretPair, Sign};
use crate::{Options, SetupError};

/// A sender that signs in a way of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coded {
    /// Fields of each payment item, or the body of a platform webhook.
    Adyen,
    /// Fields of the message, with a key whose certificate the message names.
    AwsSns,
    /// A form with a signed text that holds XML.
    Braintree,
    /// The request in a canonical form.
    Contentful,
    /// Method, URL, body and timestamp.
    Hubspot,
    /// A timestamp and a token inside the body.
    Mailgun,
    /// The checksum of the body, with a key whose certificate a header names.
    Paypal,
    /// A token that names the hash of the body, with a key that is asked for.
    Plaid,
    /// The URL and the fields of the form.
    Twilio,
}

/// What the code of a proof offers.
pub(crate) trait Code {
    /// The proof with its secrets.
    fn compile(&self, setup: &Setup<'_>) -> Result<Box<dyn Prove>, SetupError>;

    /// What the sender does.
    fn signer(&self, secret: &str, options: &Options) -> Result<Box<dyn Sign>, SetupError>;

    /// What it is, in a few words.
    fn summary(&self) -> &'static str;

    /// The headers that hold the proof, in lower case; none where it is in the body.
    fn headers(&self) -> &'static [&'static str] {
        &[]
    }

    /// The fields of a body that prove who sent it and fit another body as well.
    fn body_credentials(&self) -> &'static [&'static str] {
        &[]
    }

    /// How far a signed timestamp may usually be off; nothing where none is checked.
    fn tolerance_seconds(&self) -> Option<u32> {
        None
    }

    /// Whether the public URL is part of what is signed.
    fn covers_url(&self) -> bool {
        false
    }

    /// A fresh secret, from the caller's randomness.
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
