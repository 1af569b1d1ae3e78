//! A row of `hapax_outbox` as the application wrote it, and whether it can be relayed.

use std::collections::HashMap;

use bytes::Bytes;
use hapax::limits::{BODY_BYTES_MAX, HEADERS_MAX, NAME_BYTES_MAX, TARGET_BYTES_MAX};
use hapax_core::{Clock, DestinationId, Headers, SourceName};
use hapax_engine::{DirectedEvent, IncomingEvent};
use http::{HeaderName, HeaderValue};
use serde_json::Value;

use super::{KEY_HEADER, TARGET_HEADER, full_name};
use hapax_config::{http_url, nearest};

#[derive(Clone, Debug)]
pub struct Row {
    pub(super) id: i64,
    pub(super) kind: String,
    pub(super) target: String,
    /// A JSON object.
    pub(super) headers: String,
    /// Empty if it is too large to be read.
    pub(super) body: Bytes,
    pub(super) body_bytes: i64,
    pub(super) idempotency_key: String,
    pub(super) order_key: Option<String>,
}

impl Row {
    /// The event that it becomes; otherwise what is wrong with it, and how to fix it.
    pub(super) fn directed_event(
        self,
        outbox: &str,
        destinations: &HashMap<String, DestinationId>,
        clock: &dyn Clock,
    ) -> Result<DirectedEvent, String> {
        check_key("idempotency_key", &self.idempotency_key)?;
        if let Some(key) = &self.order_key {
            check_key("order_key", key)?;
        }
        if self.body_bytes > BODY_BYTES_MAX as i64 {
            return Err(format!(
                "the body has {} bytes, and at most {BODY_BYTES_MAX} are relayed: store it elsewhere and send a \
                 reference",
                self.body_bytes
            ));
        }
        let mut headers = headers(&self.headers)?;
        headers.push((KEY_HEADER.to_owned(), self.idempotency_key.clone()));
        let name = full_name(outbox);
        let to = match self.kind.as_str() {
            "http" => {
                check_url(&self.target)?;
                headers.push((TARGET_HEADER.to_owned(), self.target));
                DestinationId::from(name.as_str())
            }
            "destination" => destination(&self.target, destinations)?,
            other => return Err(format!("the kind is `{other}`: write 'http' or 'destination'")),
        };
        let pairs = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()));
        Ok(DirectedEvent {
            incoming: IncomingEvent {
                source: SourceName::from(name),
                event_id: self.idempotency_key,
                earlier_id: None,
                event_type: None,
                signed_at: None,
                secret_index: None,
                received_at: clock.now(),
                headers: Headers::pack(pairs),
                body: self.body,
                content_hash: None,
                batch: None,
            },
            to,
            order_key: self.order_key,
        })
    }
}

fn check_key(column: &str, key: &str) -> Result<(), String> {
    if key.is_empty() || key.len() > NAME_BYTES_MAX || key.contains('\0') {
        return Err(format!(
            "the {column} has {} bytes: write 1 to {NAME_BYTES_MAX}, without NUL",
            key.len()
        ));
    }
    Ok(())
}

/// Errors never quote the URL: its query may hold a token.
fn check_url(text: &str) -> Result<(), String> {
    let usable = text.len() <= TARGET_BYTES_MAX && http_url(text).is_ok();
    if usable {
        return Ok(());
    }
    Err(format!(
        "the target is not an allowed URL: write http:// or https://, a host and a path, at most {TARGET_BYTES_MAX} \
         bytes, without a user name, password or fragment; link-local and metadata addresses are not allowed"
    ))
}

fn destination(name: &str, known: &HashMap<String, DestinationId>) -> Result<DestinationId, String> {
    known.get(name).cloned().ok_or_else(|| {
        let meant = nearest(name, known.keys().map(String::as_str));
        let meant = meant.map_or_else(String::new, |meant| format!(", or did you mean `{meant}`?"));
        format!("there is no [destinations.{name}] in hapax.toml: add it{meant}")
    })
}

fn headers(text: &str) -> Result<Vec<(String, String)>, String> {
    let Ok(Value::Object(object)) = serde_json::from_str(text) else {
        return Err(
            "the headers are not a JSON object: write {\"content-type\": \"application/json\"}".to_owned(),
        );
    };
    if object.len() > HEADERS_MAX {
        return Err(format!(
            "there are {} headers, and at most {HEADERS_MAX} are sent",
            object.len()
        ));
    }
    // These two are set by the relay.
    let is_ours = |name: &str| {
        [TARGET_HEADER, KEY_HEADER]
            .iter()
            .any(|ours| name.eq_ignore_ascii_case(ours))
    };
    object
        .into_iter()
        .filter(|(name, _)| !is_ours(name))
        .map(|(name, value)| match value {
            Value::String(value)
                if HeaderName::try_from(name.as_str()).is_ok() && HeaderValue::from_str(&value).is_ok() =>
            {
                Ok((name, value))
            }
            _ => Err(format!(
                "the header `{}` cannot be sent: its name or value is not valid in HTTP, or the value is not a string",
                name.escape_default()
            )),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax_core::SystemClock;

    fn row() -> Row {
        Row {
            id: 1,
            kind: "http".to_owned(),
            target: "https://example.com/hook?token=x".to_owned(),
            headers: "{\"Content-Type\": \"text/plain\"}".to_owned(),
            body: Bytes::from_static(b"body"),
            body_bytes: 4,
            idempotency_key: "key".to_owned(),
            order_key: None,
        }
    }

    fn directed_event(row: Row) -> Result<DirectedEvent, String> {
        let known = HashMap::from([("billing".to_owned(), DestinationId::from("billing-1"))]);
        row.directed_event("app", &known, &SystemClock::default())
    }

    #[test]
    fn a_call_becomes_an_event_for_the_outboxs_own_destination() {
        let directed_event = directed_event(row()).unwrap();
        assert_eq!(directed_event.to.as_str(), "outbox.app");
        assert_eq!(directed_event.incoming.source.as_str(), "outbox.app");
        assert_eq!(directed_event.incoming.event_id, "key");
        let target = directed_event.incoming.headers.get(TARGET_HEADER).unwrap();
        assert_eq!(target, b"https://example.com/hook?token=x");
        assert_eq!(directed_event.incoming.headers.get(KEY_HEADER).unwrap(), b"key");
    }

    #[test]
    fn a_row_cannot_say_another_key_or_target_in_its_headers() {
        let forged = "{\"Hapax-Outbox-Key\": \"x\", \"hapax-outbox-target\": \"http://example.com/\"}";
        let row = Row {
            headers: forged.to_owned(),
            ..row()
        };
        let headers = directed_event(row).unwrap().incoming.headers;
        assert_eq!(headers.get(KEY_HEADER).unwrap(), b"key");
        assert_eq!(headers.iter().count(), 2);
    }

    #[test]
    fn a_destination_is_named_as_the_configuration_names_it() {
        let named = |target: &str| Row {
            kind: "destination".to_owned(),
            target: target.to_owned(),
            ..row()
        };
        assert_eq!(directed_event(named("billing")).unwrap().to.as_str(), "billing-1");
        let refused = directed_event(named("biling")).unwrap_err();
        assert!(refused.contains("did you mean `billing`"), "{refused}");
    }

    #[test]
    fn what_cannot_be_relayed_says_why_and_never_quotes_the_url() {
        let wrong: [fn(&mut Row); 9] = [
            |row| row.idempotency_key.clear(),
            |row| row.order_key = Some(String::new()),
            |row| row.body_bytes = 1 << 30,
            |row| row.kind = "mail".to_owned(),
            |row| row.target = "ftp://example.com/hunter2".to_owned(),
            |row| row.target = "http://169.254.169.254/hunter2".to_owned(),
            |row| row.headers = "[]".to_owned(),
            |row| row.headers = "{\"a b\": \"c\"}".to_owned(),
            |row| row.headers = "{\"a\": 1}".to_owned(),
        ];
        for change in wrong {
            let mut row = row();
            change(&mut row);
            let said = directed_event(row).unwrap_err();
            assert!(said.len() > 20 && !said.contains("hunter2"), "{said}");
        }
    }
}
