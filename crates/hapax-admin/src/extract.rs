//! Extractors for paths, queries and bodies, with errors that say what to write instead.

use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use bytes::Bytes;
use hapax_core::store::Cursor;
use hapax_core::{BodyHash, EventId};
use http::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::api_error::{ApiError, ApiResult};
use hapax_api::problem::Code;

/// Maximum size of a body on the admin port.
pub(crate) const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Maximum number of items on a page.
pub(crate) const PAGE_MAX: u32 = 200;
/// Default number of items on a page.
pub const PAGE_DEFAULT: u32 = 50;

/// The parameters of a path, percent-decoded.
pub struct PathParams<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(value)) => Ok(Self(value)),
            Err(rejection) => Err(ApiError::invalid_parameter(format!(
                "the path: {}",
                rejection.body_text()
            ))),
        }
    }
}

/// A query string. Unknown parameters are refused if `T` refuses them.
pub struct QueryParams<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(value)) => Ok(Self(value)),
            Err(rejection) => Err(ApiError::invalid_parameter(rejection.body_text())),
        }
    }
}

/// A JSON body; an empty one is `T`'s default.
pub(crate) struct JsonBody<T>(pub T);

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> ApiResult<Self> {
        let body = Bytes::from_request(request, state)
            .await
            .map_err(|rejection| unreadable(&rejection))?;
        if body.is_empty() {
            return Ok(Self(T::default()));
        }
        read(&body).map(Self)
    }
}

/// Parses a JSON object. Serde would also accept an array of the fields in order, so that is refused here.
fn read<T: DeserializeOwned>(body: &[u8]) -> ApiResult<T> {
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(ApiError::new(
            Code::MalformedBody,
            "the body must be a JSON object, such as {}",
        ));
    }
    serde_json::from_slice(body).or_else(|error| {
        // In JSON, 10.0 is the integer 10, and some clients write no other form.
        let whole = serde_json::from_slice(body).map(whole_numbers);
        whole
            .and_then(serde_json::from_value)
            .map_err(|_| ApiError::new(Code::MalformedBody, error.to_string()))
    })
}

fn whole_numbers(value: Value) -> Value {
    /// From here on, not every integer has an exact float.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT_MAX => {
                Value::from(float as i64)
            }
            Some(_) | None => Value::Number(number),
        },
        Value::Array(values) => values.into_iter().map(whole_numbers).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, whole_numbers(value)))
            .collect(),
        other @ (Value::Null | Value::Bool(_) | Value::String(_)) => other,
    }
}

fn unreadable(rejection: &BytesRejection) -> ApiError {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return ApiError::body_too_large(BODY_BYTES_MAX);
    }
    ApiError::new(Code::MalformedBody, rejection.body_text())
}

pub fn limit(asked: Option<u32>) -> ApiResult<u32> {
    match asked {
        None => Ok(PAGE_DEFAULT),
        Some(limit @ 1..=PAGE_MAX) => Ok(limit),
        Some(other) => Err(ApiError::invalid_parameter(format!(
            "`limit` is {other}; a page has 1 to {PAGE_MAX} items"
        ))),
    }
}

/// Parses a cursor.
pub fn cursor(text: Option<&str>) -> ApiResult<Option<Cursor>> {
    let Some(text) = text else { return Ok(None) };
    // The parser would also accept a sign; our cursors have exactly sixteen digits.
    let is_ours = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match u64::from_str_radix(text, 16).ok().filter(|_| is_ours) {
        Some(number) => Ok(Some(Cursor(number))),
        None => Err(not_a_cursor(text)),
    }
}

/// The error for an invalid cursor.
pub(super) fn not_a_cursor(text: &str) -> ApiError {
    ApiError::invalid_parameter(format!(
        "`{text}` is not a cursor: pass the value of `next` unchanged"
    ))
}

/// A cursor as clients see it.
pub(crate) fn cursor_text(cursor: Cursor) -> String {
    format!("{:016x}", cursor.0)
}

/// Parses an event id from a path.
pub fn event_id(text: &str) -> ApiResult<EventId> {
    text.parse()
        .map_err(|error: hapax_core::event_id::NotAnEventId| ApiError::invalid_parameter(error.to_string()))
}

/// Parses the SHA-256 of a body from a path.
pub(crate) fn body_hash(text: &str) -> ApiResult<BodyHash> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes).map_err(|_| {
        ApiError::invalid_parameter(format!("`{text}` is not a SHA-256: it has 64 hexadecimal digits"))
    })?;
    Ok(BodyHash::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_as_itself_and_anything_else_is_refused() {
        for number in [0, 1, u64::MAX] {
            assert_eq!(
                cursor(Some(&cursor_text(Cursor(number)))),
                Ok(Some(Cursor(number)))
            );
        }
        for text in [
            "",
            "1",
            "zzzzzzzzzzzzzzzz",
            "00000000000000001",
            "+000000000000001",
        ] {
            assert!(cursor(Some(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn a_body_is_an_object_and_a_whole_number_is_one_however_it_is_written() {
        #[derive(Debug, serde::Deserialize, PartialEq)]
        struct Body {
            rate: Option<u32>,
        }
        for text in [r#"{"rate":10}"#, r#" {"rate":10.0}"#, r#"{"rate":1e1}"#] {
            assert_eq!(read(text.as_bytes()), Ok(Body { rate: Some(10) }), "{text}");
        }
        for text in [
            r#"{"rate":10.5}"#,
            r#"{"rate":-1.0}"#,
            "[10]",
            "null",
            "10",
            " ",
            "{",
        ] {
            assert!(read::<Body>(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_page_has_at_least_one_and_at_most_the_limit() {
        assert_eq!(limit(None), Ok(PAGE_DEFAULT));
        assert_eq!(limit(Some(PAGE_MAX)), Ok(PAGE_MAX));
        assert!(limit(Some(0)).is_err());
        assert!(limit(Some(PAGE_MAX + 1)).is_err());
    }
}
