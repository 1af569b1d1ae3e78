//! The response of a handler, in the form that the provider requires.

use axum_core::body::Body;
use axum_core::response::Response;
use hapax_verify::{AnswerBody, AnswerRule};
use http::header::CONTENT_TYPE;

use super::axum::{put_headers, status};
use super::insisted;
use crate::answer::Answer;

/// The response of a handler, in the form that the provider requires.
pub(super) fn accepted(mut response: Response, rule: &AnswerRule) -> Response {
    let answer = insisted::accepted(
        Answer {
            status: response.status().as_u16(),
            headers: Vec::new(),
            body: Vec::new(),
        },
        rule,
    );
    let keeps_body = !response.status().is_success() || rule.body == AnswerBody::Json;
    *response.status_mut() = status(&answer);
    if !keeps_body {
        response.headers_mut().remove(CONTENT_TYPE);
        put_headers(response.headers_mut(), &answer);
        *response.body_mut() = Body::from(answer.body);
    }
    response
}

#[cfg(test)]
mod tests {
    use axum_core::response::IntoResponse as _;
    use http::StatusCode;
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn a_handlers_response_is_kept_unless_the_provider_insists() {
        let handled = || (StatusCode::CREATED, [("x-trace", "1")], "done").into_response();
        let kept = accepted(handled(), &AnswerRule::default());
        assert_eq!((kept.status().as_u16(), text(kept).await.as_str()), (201, "done"));
        let rule = AnswerRule {
            status: Some(200),
            body: AnswerBody::Empty,
            refused_status: None,
        };
        let emptied = accepted(handled(), &rule);
        assert_eq!(
            (emptied.status().as_u16(), &emptied.headers()["x-trace"]),
            (200, &"1".parse().unwrap())
        );
        assert!(!emptied.headers().contains_key(CONTENT_TYPE));
        assert_eq!(text(emptied).await, "");
        let failed = accepted((StatusCode::CONFLICT, "no").into_response(), &rule);
        assert_eq!(
            (failed.status().as_u16(), text(failed).await.as_str()),
            (409, "no")
        );
    }

    async fn text(response: Response) -> String {
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }
}
