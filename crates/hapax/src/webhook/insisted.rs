//! Responses in the form that a provider requires, such as a specific status or an empty body.

use axum_core::body::Body;
use axum_core::response::Response;
use hapax_verify::{AnswerBody, AnswerRule};
use http::StatusCode;
use http::header::CONTENT_TYPE;

/// The response to a handled request. A failure is not changed: the provider retries.
#[cfg(feature = "sqlx-postgres")]
pub(super) fn accepted(mut response: Response, rule: &AnswerRule) -> Response {
    if !response.status().is_success() {
        return response;
    }
    match &rule.body {
        AnswerBody::Json => {}
        AnswerBody::Empty => response = emptied(response),
        AnswerBody::Text(text) => {
            *response.body_mut() = Body::from(text.clone());
            let plain = http::HeaderValue::from_static("text/plain");
            response.headers_mut().insert(CONTENT_TYPE, plain);
        }
    }
    if let Some(status) = rule.status.and_then(|status| StatusCode::from_u16(status).ok()) {
        *response.status_mut() = status;
    }
    response
}

/// The response to a refused request.
pub(super) fn refused(mut response: Response, rule: &AnswerRule) -> Response {
    let status = rule.refused(response.status().as_u16());
    if let Ok(status) = StatusCode::from_u16(status) {
        *response.status_mut() = status;
    }
    match rule.body {
        AnswerBody::Empty => emptied(response),
        AnswerBody::Json | AnswerBody::Text(_) => response,
    }
}

fn emptied(mut response: Response) -> Response {
    *response.body_mut() = Body::empty();
    response.headers_mut().remove(CONTENT_TYPE);
    response
}

#[cfg(test)]
mod tests {
    use axum_core::response::IntoResponse as _;
    use http_body_util::BodyExt as _;

    use super::*;

    async fn text(response: Response) -> String {
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn a_sender_that_insists_on_empty_answers_and_its_own_status_gets_them() {
        let rule = AnswerRule {
            status: Some(200),
            body: AnswerBody::Empty,
            refused_status: Some(498),
        };
        let wrong = refused((StatusCode::UNAUTHORIZED, "why").into_response(), &rule);
        assert_eq!((wrong.status().as_u16(), text(wrong).await.as_str()), (498, ""));
        #[cfg(feature = "sqlx-postgres")]
        {
            let done = accepted((StatusCode::ACCEPTED, "done").into_response(), &rule);
            assert_eq!((done.status().as_u16(), text(done).await.as_str()), (200, ""));
            let failed = accepted((StatusCode::INTERNAL_SERVER_ERROR, "no").into_response(), &rule);
            assert_eq!(
                (failed.status().as_u16(), text(failed).await.as_str()),
                (500, "no")
            );
        }
    }
}
