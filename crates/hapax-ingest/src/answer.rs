//! The responses that mean *durable*. They are written by hand, because their structure is fixed and every accepted
//! request gets one.

use std::fmt::Write as _;

use bytes::Bytes;
use hapax_engine::Accepted;
use hapax_verify::{AnswerBody, AnswerRule};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;

use super::AckStatus;
use hapax_api::json;
use hapax_api::problem::Problem;

/// The response to a request with one event.
pub(super) fn one(accepted: &Accepted, ack_status: AckStatus) -> Response<Full<Bytes>> {
    let status = match (accepted, ack_status) {
        (Accepted::New { .. }, AckStatus::Accepted) => StatusCode::ACCEPTED,
        (Accepted::New { .. }, AckStatus::Ok)
        | (
            Accepted::Duplicate { .. } | Accepted::Quarantined { .. } | Accepted::Conflict { .. },
            AckStatus::Ok | AckStatus::Accepted,
        ) => StatusCode::OK,
    };
    let mut text = String::with_capacity(192);
    push_one(&mut text, accepted);
    response(status, text)
}

/// The response to a request with several events.
pub(super) fn batch(accepted: &[Accepted]) -> Response<Full<Bytes>> {
    let (mut new, mut duplicate, mut quarantined, mut conflict) = (0_usize, 0_usize, 0_usize, 0_usize);
    for one in accepted {
        match one {
            Accepted::New { .. } => new += 1,
            Accepted::Duplicate { .. } => duplicate += 1,
            Accepted::Quarantined { .. } => quarantined += 1,
            Accepted::Conflict { .. } => conflict += 1,
        }
    }
    let mut text = String::with_capacity(96 + 160 * accepted.len());
    // Writing to a String cannot fail, here and below.
    let _ = write!(
        text,
        "{{\"status\":\"batch\",\"accepted\":{new},\"duplicate\":{duplicate},\"conflict\":{conflict}"
    );
    if quarantined > 0 {
        let _ = write!(text, ",\"quarantined\":{quarantined}");
    }
    text.push_str(",\"events\":[");
    for (index, one) in accepted.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        push_one(&mut text, one);
    }
    text.push_str("]}");
    response(StatusCode::OK, text)
}

/// The response to a request without any event, for providers whose batches may be empty.
pub(super) fn empty() -> Response<Full<Bytes>> {
    response(StatusCode::OK, "{\"status\":\"empty\"}".to_owned())
}

/// The response in the form that the provider requires.
pub(super) fn dressed(answer: Response<Full<Bytes>>, rule: &AnswerRule) -> Response<Full<Bytes>> {
    let mut answer = with_body(answer, &rule.body);
    if let Some(status) = rule.status.and_then(|status| StatusCode::from_u16(status).ok()) {
        *answer.status_mut() = status;
    }
    answer
}

/// The response to a refused request, in the form that the provider requires.
pub(super) fn refused(problem: Problem, rule: &AnswerRule) -> Response<Full<Bytes>> {
    let status = rule.refused(problem.status().as_u16());
    let mut answer = match &rule.body {
        AnswerBody::Empty => with_body(problem.into_response(), &AnswerBody::Empty),
        AnswerBody::Json | AnswerBody::Text(_) => problem.into_response(),
    };
    if let Ok(status) = StatusCode::from_u16(status) {
        *answer.status_mut() = status;
    }
    answer
}

fn with_body(mut answer: Response<Full<Bytes>>, body: &AnswerBody) -> Response<Full<Bytes>> {
    match body {
        AnswerBody::Json => {}
        AnswerBody::Empty => {
            *answer.body_mut() = Full::default();
            answer.headers_mut().remove(CONTENT_TYPE);
        }
        AnswerBody::Text(text) => {
            *answer.body_mut() = Full::new(Bytes::from(text.clone()));
            let plain = HeaderValue::from_static("text/plain");
            answer.headers_mut().insert(CONTENT_TYPE, plain);
        }
    }
    answer
}

fn push_one(text: &mut String, accepted: &Accepted) {
    text.push_str("{\"status\":\"");
    text.push_str(accepted.status());
    let _ = write!(text, "\",\"id\":\"{}\",\"event_id\":", accepted.id());
    json::push_string(text, accepted.event_id());
    match accepted {
        Accepted::Duplicate { first_seen, .. } => {
            let _ = write!(text, ",\"first_seen\":\"{first_seen}\"");
        }
        Accepted::New { .. } | Accepted::Quarantined { .. } | Accepted::Conflict { .. } => {}
    }
    text.push('}');
}

fn response(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use hapax_api::problem::Code;
    use hapax_core::{EventId, Timestamp};
    use http_body_util::BodyExt as _;

    use super::*;

    fn id(last: u8) -> EventId {
        let mut bytes = [0; 16];
        bytes[15] = last;
        EventId::from_bytes(bytes)
    }

    async fn text(response: Response<Full<Bytes>>) -> String {
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    fn each() -> [Accepted; 3] {
        let event_id = "a\"b".to_owned();
        [
            Accepted::New {
                id: id(1),
                event_id: event_id.clone(),
            },
            Accepted::Duplicate {
                id: id(2),
                event_id: event_id.clone(),
                first_seen: Timestamp::from_seconds(0),
            },
            Accepted::Conflict { id: id(3), event_id },
        ]
    }

    #[tokio::test]
    async fn each_outcome_is_answered_in_its_documented_shape() {
        let [new, duplicate, conflict] = each();
        assert_eq!(
            text(one(&new, AckStatus::Ok)).await,
            r#"{"status":"accepted","id":"00000000-0000-0000-0000-000000000001","event_id":"a\"b"}"#
        );
        assert_eq!(
            text(one(&duplicate, AckStatus::Ok)).await,
            r#"{"status":"duplicate","id":"00000000-0000-0000-0000-000000000002","event_id":"a\"b","first_seen":"1970-01-01T00:00:00.000000Z"}"#
        );
        assert_eq!(
            text(one(&conflict, AckStatus::Ok)).await,
            r#"{"status":"conflict","id":"00000000-0000-0000-0000-000000000003","event_id":"a\"b"}"#
        );
    }

    #[test]
    fn only_a_new_event_is_answered_202_where_the_source_asks() {
        let statuses = each().map(|accepted| one(&accepted, AckStatus::Accepted).status().as_u16());
        assert_eq!(statuses, [202, 200, 200]);
    }

    #[tokio::test]
    async fn an_item_without_an_id_is_counted_only_where_there_is_one() {
        assert!(!text(batch(&each())).await.contains("quarantined"));
        let quarantined = Accepted::Quarantined {
            id: id(4),
            event_id: "unidentified:00".to_owned(),
        };
        let document: serde_json::Value = serde_json::from_str(&text(batch(&[quarantined])).await).unwrap();
        assert_eq!(
            (&document["accepted"], &document["quarantined"]),
            (&0.into(), &1.into())
        );
        assert_eq!(document["events"][0]["status"], "quarantined");
    }

    #[tokio::test]
    async fn a_provider_that_insists_on_its_answer_gets_it() {
        let rule = AnswerRule {
            status: Some(200),
            body: AnswerBody::Empty,
            refused_status: Some(498),
        };
        let [new, ..] = each();
        let answer = dressed(one(&new, AckStatus::Accepted), &rule);
        assert_eq!((answer.status().as_u16(), answer.headers().len()), (200, 0));
        assert_eq!(text(answer).await, "");
        let problem = || Problem::new(Code::SignatureInvalid, "d");
        let answer = refused(problem(), &rule);
        assert_eq!(answer.status().as_u16(), 498);
        assert_eq!(text(answer).await, "");
        let answer = refused(problem(), &AnswerRule::default());
        assert_eq!(answer.status().as_u16(), 401);
        let rule = AnswerRule {
            body: AnswerBody::Text("[accepted]".to_owned()),
            ..AnswerRule::default()
        };
        assert_eq!(text(dressed(one(&new, AckStatus::Ok), &rule)).await, "[accepted]");
    }

    #[tokio::test]
    async fn a_batch_counts_its_outcomes_and_lists_them() {
        let document: serde_json::Value = serde_json::from_str(&text(batch(&each())).await).unwrap();
        assert_eq!(document["status"], "batch");
        assert_eq!(document["accepted"], 1);
        assert_eq!(document["duplicate"], 1);
        assert_eq!(document["conflict"], 1);
        assert_eq!(document["events"][2]["status"], "conflict");
        assert_eq!(text(empty()).await, r#"{"status":"empty"}"#);
    }
}
