//! PayPal: an RSA signature over the transmission's id and time, the webhook's id and the CRC-32 of the body, by a key
//! whose certificate a header names.
//!
//! A checksum is not a hash: anyone who has one signed delivery can construct another body with the same checksum. So
//! nothing in the body counts as signed, a transmission is accepted only for as long as PayPal retries it, and the
//! caller receives its id in order to remember the body that came with it.

mod account;
mod crc32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use account::Account;
use crc32::crc32;

use super::code::Code;
use super::key_url::{is_hex, is_host, plain_https};
use super::keyed::each_secret;
use super::public_key::{Hash, RsaKey, RsaSigningKey, fetched_certificate, rsa_pair, rsa_verifies};
use super::{Prove, Proven, Setup, Stop, instant, invalid, required_header};
use crate::delivery::{Delivery, Sign};
use crate::encoding::Encoding;
use crate::identity::{Origin, ValuePath};
use crate::keys::KeyRequest;
use crate::options::Options;
use crate::rejection::{Rejection, SignatureProblem};
use crate::request::Request;
use crate::secret_pair::SecretPair;
use crate::setup::SetupError;
use crate::trace::Trace;
use crate::verification::Transmission;

const SIGNATURE: &str = "paypal-transmission-sig";
const TRANSMISSION_ID: &str = "paypal-transmission-id";
const TRANSMISSION_TIME: &str = "paypal-transmission-time";
const CERTIFICATE_URL: &str = "paypal-cert-url";
const ALGORITHM: &str = "paypal-auth-algo";
const ALGORITHM_NAME: &str = "SHA256withRSA";
const WEBHOOK_ID: &str = "webhook_id";
/// The prefix of a certificate's path.
const CERTIFICATE_PREFIX: &str = "/v1/notifications/certs/CERT-";
/// The maximum length of a certificate's name, in groups of eight hexadecimal digits; PayPal uses three.
const CERTIFICATE_GROUPS_MAX: usize = 4;
/// The hosts of its certificates.
const HOSTS: [&str; 4] = [
    "api.paypal.com",
    "api.sandbox.paypal.com",
    "api-m.paypal.com",
    "api-m.sandbox.paypal.com",
];
/// One hour more than the three days for which PayPal retries a transmission, under the id and time of its first
/// attempt.
const TOLERANCE_SECONDS: u32 = 73 * 3600;

pub(super) struct Paypal;

struct PaypalProof {
    keys: Vec<RsaKey>,
    webhook_id: String,
    tolerance: u32,
    /// The account with which PayPal is asked about each transmission, if configured.
    account: Option<Account>,
}

/// A request's claims about its transmission.
struct Claims<'a> {
    id: &'a str,
    time: &'a str,
    signature: &'a str,
}

impl Code for Paypal {
    fn compile(&self, setup: &Setup<'_>) -> Result<Box<dyn Prove>, SetupError> {
        Ok(Box::new(PaypalProof {
            keys: each_secret(setup.secrets, RsaKey::from_secret)?,
            webhook_id: webhook_id(setup.options)?,
            tolerance: instant::tolerance(setup.options, TOLERANCE_SECONDS)?,
            account: Account::from_options(setup.options)?,
        }))
    }

    fn signer(&self, secret: &str, options: &Options) -> Result<Box<dyn Sign>, SetupError> {
        let key = RsaSigningKey::from_secret(secret);
        Ok(Box::new(PaypalSigner {
            key: key.map_err(|problem| SetupError::Secret { position: 1, problem })?,
            webhook_id: webhook_id(options)?,
        }))
    }

    fn headers(&self) -> &'static [&'static str] {
        &[SIGNATURE]
    }

    fn summary(&self) -> &'static str {
        "rsa-sha256 in base64 over ids, time and the CRC-32 of the body, by a certificate that is fetched"
    }

    fn tolerance_seconds(&self) -> Option<u32> {
        Some(TOLERANCE_SECONDS)
    }

    fn secret_pair(&self, _: &[u8; 32]) -> SecretPair {
        rsa_pair()
    }
}

impl<'a> Claims<'a> {
    fn of(request: &Request<'a>) -> Result<Self, Rejection> {
        let signature = required_header(request, SIGNATURE)?;
        if required_header(request, ALGORITHM)? != ALGORITHM_NAME {
            let problem = SignatureProblem::Refused("only SHA256withRSA is");
            return Err(invalid(ALGORITHM, problem));
        }
        let id = required_header(request, TRANSMISSION_ID)?;
        let time = required_header(request, TRANSMISSION_TIME)?;
        if id.contains('|') || time.contains('|') {
            return Err(invalid(SIGNATURE, SignatureProblem::Ambiguous));
        }
        Ok(Claims { id, time, signature })
    }
}

impl PaypalProof {
    /// The index of the configured key that matches; `None` if the certificate was fetched.
    fn check(&self, request: &Request<'_>, claims: &Claims<'_>) -> Result<Option<usize>, Stop> {
        let undecodable = |_| invalid(SIGNATURE, SignatureProblem::NotDecodable(Encoding::Base64));
        let signature = STANDARD.decode(claims.signature).map_err(undecodable)?;
        let content = content(claims.id, claims.time, &self.webhook_id, request.body);
        let mismatch = || Stop::Rejected(invalid(SIGNATURE, SignatureProblem::Mismatch));
        if !self.keys.is_empty() {
            let matches = |key: &RsaKey| {
                let valid = key.is_valid_at(request.received_at);
                valid && key.verifies(Hash::Sha256, content.as_bytes(), &signature)
            };
            return self.keys.iter().position(matches).map(Some).ok_or_else(mismatch);
        }
        let url = required_header(request, CERTIFICATE_URL)?;
        if !is_certificate_url(url) {
            return Err(Stop::Rejected(Rejection::KeyRefused {
                problem: "the certificate's URL is not one of PayPal's certificates".to_owned(),
            }));
        }
        let Some(pem) = request.keys.get(url) else {
            return Err(Stop::NeedsKey(KeyRequest::certificate(url)));
        };
        let certificate = fetched_certificate(&pem, request.received_at, is_paypal_host)?;
        if !rsa_verifies(
            &certificate.public_key,
            Hash::Sha256,
            content.as_bytes(),
            &signature,
        ) {
            return Err(mismatch());
        }
        Ok(None)
    }
}

impl Prove for PaypalProof {
    fn prove(&self, request: &Request<'_>, trace: &mut Trace<'_>) -> Result<Proven, Stop> {
        let claims = trace.step("headers", Claims::of(request), |claims| {
            format!("transmission {} of {}", claims.id, claims.time)
        })?;
        let checked = self.check(request, &claims);
        let secret_index = traced(trace, "signature", checked, |index| match index {
            Some(index) => format!("made with secret {} of {}", index + 1, self.keys.len()),
            None => "made with the certificate that the request names".to_owned(),
        })?;
        let time = instant::near(instant::rfc3339(claims.time), request.received_at, self.tolerance);
        let signed_at = trace.step("timestamp", time, |at| {
            format!("signed at {at}, received at {}", request.received_at)
        })?;
        if let Some(account) = &self.account {
            let asked = account.ask(request, &claims, &self.webhook_id);
            traced(trace, "verification", asked, |()| {
                "PayPal confirms that it sent it".to_owned()
            })?;
        }
        trace.noted("body", || {
            "only its CRC-32 is signed, so the server accepts no other body under this transmission"
                .to_owned()
        });
        Ok(Proven {
            secret_index,
            signed_at: Some(signed_at),
            transmission: Some(Transmission {
                id: claims.id.to_owned(),
                valid_until: signed_at.saturating_add(self.tolerance.into()),
            }),
            ..Proven::default()
        })
    }

    fn applies(&self, request: &Request<'_>) -> bool {
        request.headers.get(SIGNATURE).is_some()
    }

    fn covers(&self, place: &ValuePath) -> bool {
        match place.origin() {
            Origin::Header(name) => name == TRANSMISSION_ID || name == TRANSMISSION_TIME,
            Origin::Url | Origin::Body => false,
        }
    }
}

/// Records the result of a step, unless it waits for a key.
fn traced<T>(
    trace: &mut Trace<'_>,
    name: &'static str,
    result: Result<T, Stop>,
    detail: impl FnOnce(&T) -> String,
) -> Result<T, Stop> {
    let result = match result {
        Ok(value) => Ok(value),
        Err(Stop::Rejected(rejection)) => Err(rejection),
        Err(stop @ Stop::NeedsKey(_)) => return Err(stop),
    };
    trace.step(name, result, detail).map_err(Stop::Rejected)
}

struct PaypalSigner {
    key: RsaSigningKey,
    webhook_id: String,
}

impl Sign for PaypalSigner {
    fn sign(&self, delivery: &mut Delivery) {
        let time = instant::rfc3339_text(delivery.timestamp);
        let id = format!("transmission-of-{}", delivery.id.replace('|', "-"));
        let content = content(&id, &time, &self.webhook_id, &delivery.body);
        let headers = [
            (TRANSMISSION_ID, id),
            (TRANSMISSION_TIME, time),
            (ALGORITHM, ALGORITHM_NAME.to_owned()),
            (
                CERTIFICATE_URL,
                "https://api.paypal.com/v1/notifications/certs/CERT-00000000-00000000-00000000".to_owned(),
            ),
            (SIGNATURE, self.key.sign(content.as_bytes())),
        ];
        for (name, value) in headers {
            delivery.set_header(name, &value);
        }
    }
}

fn content(id: &str, time: &str, webhook_id: &str, body: &[u8]) -> String {
    format!("{id}|{time}|{webhook_id}|{}", crc32(body))
}

/// Whether this can be a certificate of PayPal's API, such as
/// `https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-a5cafa77`.
fn is_certificate_url(url: &str) -> bool {
    let is_name = |name: &str| {
        let mut groups = name.split('-');
        name.split('-').count() <= CERTIFICATE_GROUPS_MAX
            && groups.all(|group| group.len() == 8 && is_hex(group))
    };
    plain_https(url).is_some_and(|(host, path)| {
        HOSTS.contains(&host) && path.strip_prefix(CERTIFICATE_PREFIX).is_some_and(is_name)
    })
}

/// `paypal.com` and its subdomains.
fn is_paypal_host(host: &str) -> bool {
    is_host(host) && (host == "paypal.com" || host.ends_with(".paypal.com"))
}

fn webhook_id(options: &Options) -> Result<String, SetupError> {
    let id = options.text(WEBHOOK_ID).filter(|id| !id.is_empty());
    let id = id.ok_or(SetupError::OptionMissing { name: WEBHOOK_ID })?;
    Ok(id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_path_of_certificates_on_paypals_api_has_its_certificates() {
        for url in [
            "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-a5cafa77",
            "https://api.sandbox.paypal.com/v1/notifications/certs/CERT-01234567",
            "https://api-m.paypal.com/v1/notifications/certs/CERT-01234567-89abcdef",
        ] {
            assert!(is_certificate_url(url), "{url}");
        }
        for wrong in [
            "http://api.paypal.com/v1/notifications/certs/CERT-01234567",
            "https://api.paypal.com.evil.example/v1/notifications/certs/CERT-01234567",
            "https://evilpaypal.com/v1/notifications/certs/CERT-01234567",
            "https://www.paypal.com/v1/notifications/certs/CERT-01234567",
            "https://paypal.com/v1/notifications/certs/CERT-01234567",
            "https://api.attacker.paypal.com/v1/notifications/certs/CERT-01234567",
            "https://api.paypal.com/v1/notifications/certs/CERT-1",
            "https://api.paypal.com/v1/notifications/certs/CERT-0123456g",
            "https://api.paypal.com/v1/notifications/certs/CERT-01234567-",
            "https://api.paypal.com/v1/notifications/certs/CERT-01234567-01234567-01234567-01234567-01234567",
            "https://api.paypal.com/v1/notifications/certs/sample",
            "https://api.paypal.com/v1/notifications/certs/",
            "https://api.paypal.com/v1/notifications/certs/a/b",
            "https://api.paypal.com/v1/notifications/certs/..",
            "https://api.paypal.com/v1/notifications/CERT-01234567",
            "https://api.paypal.com/uploads/v1/notifications/certs/CERT-01234567",
            "https://api.paypal.com/v1/notifications/certs/CERT-01234567?x=y",
            "",
        ] {
            assert!(!is_certificate_url(wrong), "{wrong}");
        }
    }
}
