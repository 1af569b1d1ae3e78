//! Amazon SNS: an RSA signature over fields of the message, by a key whose certificate the message names.
//!
//! The certificate is named by a URL that the client chooses, so it must be on an SNS host. A valid signature proves
//! only that some topic sent the message; the allowed topics are configured. Only the message text may contain line
//! breaks: with one elsewhere, the same signature would be valid for a message with another id.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::code::Code;
use super::key_url::{is_hex, is_host, plain_https};
use super::keyed::each_secret;
use super::public_key::{Hash, RsaKey, RsaSigningKey, fetched_certificate, rsa_pair, rsa_verifies};
use super::{Prove, Proven, Setup, Stop, instant, invalid};
use crate::delivery::{Delivery, Sign};
use crate::encoding::Encoding;
use crate::identity::{Extracted, Pointer, Pointers, ValuePath};
use crate::keys::KeyRequest;
use crate::options::Options;
use crate::rejection::{Rejection, SignatureProblem};
use crate::request::Request;
use crate::secret_pair::SecretPair;
use crate::setup::SetupError;
use crate::trace::Trace;

const PLACE: &str = "body:/Signature";
const TOPICS: &str = "topic_arns";
const TOLERANCE_SECONDS: u32 = 3600;
const CERTIFICATE_URL: &str = "SigningCertURL";
/// The prefix of a certificate's path.
const CERTIFICATE_PREFIX: &str = "/SimpleNotificationService-";

/// The signed fields of a notification, in this order.
const NOTIFICATION: [&str; 6] = ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"];
/// The signed fields when a subscription begins or ends.
const CONFIRMATION: [&str; 7] = [
    "Message",
    "MessageId",
    "SubscribeURL",
    "Timestamp",
    "Token",
    "TopicArn",
    "Type",
];
/// All fields that are read, signed or not.
const FIELDS: [&str; 11] = [
    "Message",
    "MessageId",
    "Subject",
    "SubscribeURL",
    "Timestamp",
    "Token",
    "TopicArn",
    "Type",
    "SignatureVersion",
    "Signature",
    CERTIFICATE_URL,
];

pub(super) struct AwsSns;

struct AwsSnsProof {
    keys: Vec<RsaKey>,
    topics: Vec<String>,
    tolerance: u32,
    pointers: Pointers,
}

/// The fields of a message.
struct Message<'a>(Extracted<'a>);

impl Code for AwsSns {
    fn compile(&self, setup: &Setup<'_>) -> Result<Box<dyn Prove>, SetupError> {
        let topics = topics(setup.options)?;
        Ok(Box::new(AwsSnsProof {
            keys: each_secret(setup.secrets, RsaKey::from_secret)?,
            topics,
            tolerance: instant::tolerance(setup.options, TOLERANCE_SECONDS)?,
            pointers: pointers()?,
        }))
    }

    fn signer(&self, secret: &str, options: &Options) -> Result<Box<dyn Sign>, SetupError> {
        let key = RsaSigningKey::from_secret(secret);
        Ok(Box::new(AwsSnsSigner {
            key: key.map_err(|problem| SetupError::Secret { position: 1, problem })?,
            topic: topics(options)?.swap_remove(0),
            pointers: pointers()?,
        }))
    }

    fn tolerance_seconds(&self) -> Option<u32> {
        Some(TOLERANCE_SECONDS)
    }

    fn summary(&self) -> &'static str {
        "rsa-sha256 or rsa-sha1 in base64 over fields of the message, by a certificate that is fetched"
    }

    fn secret_pair(&self, _: &[u8; 32]) -> SecretPair {
        rsa_pair()
    }
}

impl AwsSnsProof {
    fn read<'a>(&self, body: &'a [u8]) -> Result<Message<'a>, Rejection> {
        let missing = |_| Rejection::SignatureNotInBody {
            place: PLACE.to_owned(),
        };
        self.pointers.extract(body).map(Message).map_err(missing)
    }

    /// The signed content, the hash algorithm and the signature.
    fn parts(message: &Message<'_>) -> Result<(String, Hash, Vec<u8>), Rejection> {
        let signature = message
            .get("Signature")
            .ok_or_else(|| Rejection::SignatureNotInBody {
                place: PLACE.to_owned(),
            })?;
        let undecodable = |_| invalid(PLACE, SignatureProblem::NotDecodable(Encoding::Base64));
        let signature = STANDARD.decode(signature.as_bytes()).map_err(undecodable)?;
        let hash = match message.get("SignatureVersion").as_deref() {
            Some("1") => Hash::Sha1,
            Some("2") => Hash::Sha256,
            Some(_) | None => return Err(invalid(PLACE, SignatureProblem::NoKnownVersion)),
        };
        Ok((signed_content(message)?, hash, signature))
    }

    /// The index of the configured key that matches; `None` if the certificate was fetched.
    fn check(&self, request: &Request<'_>, message: &Message<'_>) -> Result<Option<usize>, Stop> {
        let (content, hash, signature) = Self::parts(message)?;
        let mismatch = || Stop::Rejected(invalid(PLACE, SignatureProblem::Mismatch));
        if !self.keys.is_empty() {
            let matches = |key: &RsaKey| {
                key.is_valid_at(request.received_at) && key.verifies(hash, content.as_bytes(), &signature)
            };
            return self.keys.iter().position(matches).map(Some).ok_or_else(mismatch);
        }
        let url = message.get(CERTIFICATE_URL).unwrap_or_default();
        if !is_certificate_url(&url) {
            return Err(Stop::Rejected(Rejection::KeyRefused {
                problem: "the certificate's URL is not one of Amazon SNS".to_owned(),
            }));
        }
        let Some(pem) = request.keys.get(&url) else {
            return Err(Stop::NeedsKey(KeyRequest::certificate(&url)));
        };
        let certificate = fetched_certificate(&pem, request.received_at, is_sns_host)?;
        if !rsa_verifies(&certificate.public_key, hash, content.as_bytes(), &signature) {
            return Err(mismatch());
        }
        Ok(None)
    }

    fn check_topic(&self, message: &Message<'_>) -> Result<(), Rejection> {
        let topic = message.get("TopicArn").unwrap_or_default();
        if self.topics.iter().any(|allowed| *allowed == topic) {
            return Ok(());
        }
        Err(Rejection::NotForUs {
            problem: "its topic is not in `topic_arns`; add it there if it is yours".to_owned(),
        })
    }
}

impl Prove for AwsSnsProof {
    fn prove(&self, request: &Request<'_>, trace: &mut Trace<'_>) -> Result<Proven, Stop> {
        let message = trace.step("message", self.read(request.body), |_| "it is JSON".to_owned())?;
        // Checked before the signature: nobody can make us fetch a certificate without naming a configured topic.
        trace.step("topic", self.check_topic(&message), |()| {
            "it is allowed".to_owned()
        })?;
        let secret_index = match self.check(request, &message) {
            Ok(index) => index,
            Err(Stop::Rejected(rejection)) => {
                trace.step::<()>("signature", Err(rejection), |()| String::new())?;
                None
            }
            Err(stop @ Stop::NeedsKey(_)) => return Err(stop),
        };
        trace.passed("signature", || match secret_index {
            Some(index) => format!("made with secret {} of {}", index + 1, self.keys.len()),
            None => "made with the certificate that the message names".to_owned(),
        });
        let signed_at = message.get("Timestamp").and_then(|text| instant::rfc3339(&text));
        let time = instant::near(signed_at, request.received_at, self.tolerance);
        let signed_at = trace.step("timestamp", time, |at| {
            format!("signed at {at}, received at {}", request.received_at)
        })?;
        Ok(Proven {
            secret_index,
            signed_at: Some(signed_at),
            ..Proven::default()
        })
    }

    fn applies(&self, request: &Request<'_>) -> bool {
        let message = self.read(request.body);
        message.is_ok_and(|message| message.get("Signature").is_some())
    }

    fn is_in_body(&self) -> bool {
        true
    }

    fn covers(&self, place: &ValuePath) -> bool {
        let signed = |pointer: &Pointer| match pointer.tokens() {
            [only] => ["MessageId", "Message", "Timestamp", "TopicArn", "Type"].contains(&only.as_str()),
            _ => false,
        };
        match place {
            ValuePath::Body(pointer) | ValuePath::Request(pointer) | ValuePath::Flag(pointer) => {
                signed(pointer)
            }
            ValuePath::Header(_)
            | ValuePath::Query(_)
            | ValuePath::Form(_)
            | ValuePath::BodySha256
            | ValuePath::RequestSha256
            | ValuePath::Index
            | ValuePath::Present(_)
            | ValuePath::Proof(_)
            | ValuePath::Text(_) => false,
        }
    }
}

impl<'a> Message<'a> {
    /// The value of a string field.
    fn get(&self, name: &str) -> Option<Cow<'a, str>> {
        let slot = FIELDS.iter().position(|field| *field == name)?;
        let is_string = self.0.raw(slot).is_some_and(|raw| raw.starts_with('"'));
        if is_string {
            self.0.scalar(slot).ok().flatten()
        } else {
            None
        }
    }
}

struct AwsSnsSigner {
    key: RsaSigningKey,
    topic: String,
    pointers: Pointers,
}

impl Sign for AwsSnsSigner {
    fn sign(&self, delivery: &mut Delivery) {
        let Ok(mut body) = serde_json::from_slice::<serde_json::Value>(&delivery.body) else {
            return;
        };
        if !body.is_object() {
            return;
        }
        body["TopicArn"] = self.topic.as_str().into();
        body["Timestamp"] = instant::rfc3339_milliseconds_text(delivery.timestamp).into();
        body["SignatureVersion"] = "2".into();
        let unsigned = body.to_string();
        let message = self.pointers.extract(unsigned.as_bytes()).map(Message);
        let content = message.ok().and_then(|message| signed_content(&message).ok());
        body["Signature"] = self.key.sign(content.unwrap_or_default().as_bytes()).into();
        delivery.body = body.to_string().into_bytes();
        delivery.set_header("x-amz-sns-topic-arn", &self.topic);
    }
}

/// Each signed field as two lines, its name and its value.
fn signed_content(message: &Message<'_>) -> Result<String, Rejection> {
    let kind = message.get("Type").unwrap_or_default();
    let names: &[&str] = match kind.as_ref() {
        "Notification" => &NOTIFICATION,
        "SubscriptionConfirmation" | "UnsubscribeConfirmation" => &CONFIRMATION,
        _ => return Err(invalid(PLACE, SignatureProblem::Unreadable)),
    };
    let mut content = String::new();
    for name in names {
        let value = match message.get(name) {
            Some(value) => value,
            None if *name == "Subject" => continue,
            None => return Err(invalid(PLACE, SignatureProblem::Unreadable)),
        };
        if *name != "Message" && value.contains('\n') {
            return Err(invalid(PLACE, SignatureProblem::Ambiguous));
        }
        for line in [name, value.as_ref()] {
            content.push_str(line);
            content.push('\n');
        }
    }
    Ok(content)
}

/// `https://sns.<region>.amazonaws.com/SimpleNotificationService-<32 hex digits>.pem`.
fn is_certificate_url(url: &str) -> bool {
    let is_name = |path: &str| {
        let name = path
            .strip_prefix(CERTIFICATE_PREFIX)
            .and_then(|rest| rest.strip_suffix(".pem"));
        name.is_some_and(|name| name.len() == 32 && is_hex(name))
    };
    plain_https(url).is_some_and(|(host, path)| is_region_host(host) && is_name(path))
}

/// `sns.<region>.amazonaws.com`, or the same in China.
fn is_region_host(host: &str) -> bool {
    let inside = host.strip_prefix("sns.");
    let region = inside.and_then(|rest| {
        let rest = rest.strip_suffix(".cn").unwrap_or(rest);
        rest.strip_suffix(".amazonaws.com")
    });
    is_host(host) && region.is_some_and(|region| !region.is_empty() && !region.contains('.'))
}

/// Whether a certificate belongs to SNS, globally or in a region.
fn is_sns_host(name: &str) -> bool {
    matches!(name, "sns.amazonaws.com" | "sns.amazonaws.com.cn") || is_region_host(name)
}

fn topics(options: &Options) -> Result<Vec<String>, SetupError> {
    match options.list(TOPICS) {
        [] => Err(SetupError::OptionMissing { name: TOPICS }),
        topics => Ok(topics.to_vec()),
    }
}

fn pointers() -> Result<Pointers, SetupError> {
    let mut pointers = Pointers::default();
    for name in FIELDS {
        pointers.add(&Pointer::of_key(name))?;
    }
    Ok(pointers)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem";

    #[test]
    fn only_hosts_of_sns_have_its_certificates() {
        let is_one = |host: &str| is_certificate_url(&format!("https://{host}{NAME}"));
        assert!(is_one("sns.eu-west-1.amazonaws.com"));
        assert!(is_one("sns.cn-north-1.amazonaws.com.cn"));
        for wrong in [
            "sns.amazonaws.com",
            "sns.amazonaws.com.s3.amazonaws.com",
            "sns.us-east-1.s3.amazonaws.com",
            "s3.us-east-1.amazonaws.com",
            "sns.us-east-1.amazonaws.com.evil.example",
            "sns.us-east-1.amazonaws.com.cn.evil.cn",
            "evil.example/sns.us-east-1.amazonaws.com",
        ] {
            assert!(!is_one(wrong), "{wrong}");
        }
    }

    #[test]
    fn only_names_of_certificates_are_ever_asked_for() {
        let is_one = |path: &str| is_certificate_url(&format!("https://sns.eu-west-1.amazonaws.com{path}"));
        assert!(is_one(NAME));
        for wrong in [
            "/a.pem",
            "/SimpleNotificationService-.pem",
            "/SimpleNotificationService-0123456789abcdef0123456789abcde.pem",
            "/SimpleNotificationService-0123456789abcdef0123456789abcdeff.pem",
            "/SimpleNotificationService-0123456789ABCDEF0123456789ABCDEF.pem",
            "/SimpleNotificationService-0123456789abcdef0123456789abcdeg.pem",
            "/SimpleNotificationService-0123456789abcdef0123456789abcdef.crt",
            "/x/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
        ] {
            assert!(!is_one(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_line_break_cannot_move_a_part_of_the_message_into_the_id() {
        let honest = r#"{"Type":"Notification","MessageId":"1","TopicArn":"t","Timestamp":"x","Message":"m\nMessageId\n2\nSubject\ny"}"#;
        let moved = r#"{"Type":"Notification","MessageId":"2","TopicArn":"t","Timestamp":"x","Message":"m","Subject":"y\nMessageId\n1"}"#;
        let content = |body: &'static str| {
            let pointers = pointers().unwrap();
            signed_content(&Message(pointers.extract(body.as_bytes()).unwrap()))
        };
        assert!(content(honest).is_ok());
        assert!(content(moved).is_err());
    }
}
