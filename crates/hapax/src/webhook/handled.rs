//! A handler's own response, in the form that the provider requires.

use axum_core::body::Body;
use axum_core::response::{IntoResponse as _, Response};
use hapax_verify::{AnswerBody, AnswerRule};
use http::header::CONTENT_TYPE;

use super::insisted;
use crate::answer::Answer;

/// Keeps what the provider does not insist on, such as further headers and a streamed body. A failure is not changed.
pub(super) fn accepted(response: Response, rule: &AnswerRule) -> Response {
    let (mut head, body) = response.into_parts();
    let answer = Answer {
        status: head.status.as_u16(),
        headers: Vec::new(),
        body: Vec::new(),
    };
    let (required, new_body) = insisted::accepted(answer, rule).into_response().into_parts();
    let keeps_body = !head.status.is_success() || rule.body == AnswerBody::Json;
    head.status = required.status;
    if keeps_body {
        return Response::from_parts(head, body);
    }
    head.headers.remove(CONTENT_TYPE);
    head.headers.extend(required.headers);
    Response::from_parts(head, new_body)
}

#[cfg(test)]
mod tests {
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

    #[expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]
    async fn text(response: Response) -> String {
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }
}
