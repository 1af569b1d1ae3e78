//! SNS asks to confirm a subscription by calling a URL. An unsubscription is an ordinary event.

use serde::Deserialize;

use super::{Answered, refused, small_json};
use crate::request::Request;
use crate::verification::{Confirmation, HandshakeAnswer, Verification};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Message {
    r#type: String,
    #[serde(rename = "SubscribeURL")]
    subscribe_url: String,
}

/// The signature covers the type and the URL. The host is checked nevertheless, because the call comes from inside the
/// receiver's network.
pub(super) fn answer(request: &Request<'_>) -> Answered {
    let body: Message = small_json(request)?;
    if body.r#type != "SubscriptionConfirmation" {
        return None;
    }
    if !is_of_sns(&body.subscribe_url) {
        return Some(refused(
            "its SubscribeURL is not an https address of sns.<region>.amazonaws.com, so it is not called",
        ));
    }
    Some(Ok(Verification::Confirmation(Confirmation {
        url: body.subscribe_url,
        answer: HandshakeAnswer::empty(),
    })))
}

/// Whether the URL is `https://sns.<region>.amazonaws.com[.cn]/…`, without a user, a port or anything ambiguous.
fn is_of_sns(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("https://") else {
        return false;
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    let plain = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    plain && path.starts_with(['/', '?']) && is_host(host)
}

fn is_host(host: &str) -> bool {
    let domain = host.strip_suffix(".cn").unwrap_or(host);
    let region = domain
        .strip_prefix("sns.")
        .and_then(|rest| rest.strip_suffix(".amazonaws.com"));
    region.is_some_and(|region| {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !region.is_empty() && region.bytes().all(allowed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_of_sns_itself_are_called() {
        for good in [
            "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=1",
            "https://sns.cn-north-1.amazonaws.com.cn/?Action=ConfirmSubscription",
        ] {
            assert!(is_of_sns(good), "{good}");
        }
        for bad in [
            "http://sns.us-east-1.amazonaws.com/",
            "https://sns.us-east-1.amazonaws.com@evil.example/",
            "https://sns.us-east-1.amazonaws.com:8443/",
            "https://evil.example/sns.us-east-1.amazonaws.com/",
            "https://evil.example?sns.us-east-1.amazonaws.com/",
            "https://sns.evil.example.amazonaws.com/",
            "https://sns..amazonaws.com/",
            "https://sns.us-east-1.amazonaws.com\\@evil.example/",
            "https://sns.us-east-1.amazonaws.com.evil.example/",
            "https://sns.us-east-1.amazonaws.com",
            "https://169.254.169.254/latest",
            "",
        ] {
            assert!(!is_of_sns(bad), "{bad}");
        }
    }
}
