//! Proofs that are code: providers whose signatures no [`Scheme`](crate::Scheme) can describe. One file each.

use serde::Deserialize;

use super::code::Code;
use super::{adyen, aws_sns, braintree, contentful, hubspot, mailgun, paypal, plaid, twilio};

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
