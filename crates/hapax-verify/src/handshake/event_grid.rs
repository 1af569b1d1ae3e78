//! Azure Event Grid's validation of a new subscription: a special event by POST, or OPTIONS if the events are
//! CloudEvents. Both are sent to the URL with the token, so both are proven.

use serde::Deserialize;
use serde_json::json;

use super::{Answered, answered, cloud_events, refused, small_json};
use crate::limits::HANDSHAKE_ECHO_BYTES_MAX;
use crate::request::Request;
use crate::verification::HandshakeAnswer;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ValidationEvent {
    event_type: String,
    data: ValidationData,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ValidationData {
    validation_code: String,
}

pub(super) fn answer(request: &Request<'_>) -> Answered {
    if request.method == "OPTIONS" {
        return cloud_events::grant(request);
    }
    let [event]: [ValidationEvent; 1] = small_json(request)?;
    if event.event_type != "Microsoft.EventGrid.SubscriptionValidationEvent" {
        return None;
    }
    let code = event.data.validation_code;
    if code.len() > HANDSHAKE_ECHO_BYTES_MAX {
        return Some(refused("its validation code is longer than any of Event Grid's"));
    }
    let document = json!({ "validationResponse": code });
    Some(Ok(answered(HandshakeAnswer::json(&document))))
}
