//! Staged calls.

use hapax::outbox::Call;

use crate::Error;
use crate::error::ErrorCode;

/// Checks a call, and returns its headers as the outbox stores them.
pub fn check_call(
    kind: &str,
    target: String,
    headers: impl IntoIterator<Item = (String, String)>,
    body: &[u8],
    key: Option<String>,
    order_key: Option<String>,
) -> Result<String, Error> {
    let call = match kind {
        "http" => Call::http(target),
        "destination" => Call::destination(target),
        _ => {
            return Err(Error {
                code: ErrorCode::InvalidCall,
                message: format!("`{kind}` is not a kind of call; write `http` or `destination`"),
            });
        }
    };
    let call = headers
        .into_iter()
        .fold(call.body(body.to_vec()), |call, (name, value)| {
            call.header(name, value)
        });
    let call = key.into_iter().fold(call, Call::key);
    let call = order_key.into_iter().fold(call, Call::order_key);
    call.check()?;
    Ok(call.headers_json())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_refused_where_it_is_staged_and_its_headers_are_in_one_form() {
        let headers = || {
            [
                ("X-B".to_owned(), "1".to_owned()),
                ("a".to_owned(), "é".to_owned()),
            ]
        };
        let stored = check_call("http", "u".to_owned(), headers(), b"", None, None);
        assert_eq!(stored.unwrap(), r#"{"a":"é","x-b":"1"}"#);
        for (kind, target, key) in [
            ("http", "", None),
            ("mail", "u", None),
            ("http", "u", Some(String::new())),
        ] {
            let refused = check_call(kind, target.to_owned(), headers(), b"", key, None);
            assert_eq!(refused.unwrap_err().code, ErrorCode::InvalidCall);
        }
    }
}
