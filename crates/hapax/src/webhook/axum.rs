//! What axum adds: reading the body, and the one place where an [`Answer`] becomes a response.

use std::error::Error as StdError;

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::{Reason, Refused, Source, Webhook, now};
use crate::answer::Answer;
use crate::limits::BODY_TIMEOUT;

/// The events of a request, in the order of its body.
pub(super) async fn receive(source: &Source, head: &Parts, body: Body) -> Result<Vec<Webhook>, Refused> {
    let received_at = now();
    let body = read(source, body).await?;
    source.receive(head, &body, received_at)
}

async fn read(source: &Source, body: Body) -> Result<Bytes, Refused> {
    let reading = Limited::new(body, source.body_bytes_max).collect();
    match tokio::time::timeout(BODY_TIMEOUT, reading).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if is_too_large(&*error) => Err(source.too_large()),
        Ok(Err(_)) => Err(source.refused(Reason::Incomplete)),
        Err(_) => Err(source.too_slow()),
    }
}

/// Exceeded either our limit or one that the router has set.
fn is_too_large(error: &(dyn StdError + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<LengthLimitError>() {
            return true;
        }
        next = error.source();
    }
    false
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let status = status(&self);
        let mut headers = HeaderMap::with_capacity(self.headers.len());
        put_headers(&mut headers, &self);
        (status, headers, Body::from(self.body)).into_response()
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        self.answer().into_response()
    }
}

pub(super) fn status(answer: &Answer) -> StatusCode {
    StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

pub(super) fn put_headers(headers: &mut HeaderMap, answer: &Answer) {
    for (name, value) in &answer.headers {
        // Our own and the catalogue's are valid; anything else would not be a header.
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            headers.insert(name, value);
        }
    }
}
