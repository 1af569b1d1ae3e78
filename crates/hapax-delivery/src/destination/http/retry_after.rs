//! `Retry-After`, in seconds or as a date (RFC 9110), with a cap.

use std::time::{Duration, SystemTime};

use hapax_core::Timestamp;

/// The longest wait that a destination can ask for. One that needs more than a day is better paused.
pub(super) const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 3600);

/// How long to wait from `now`; `None` if the text is neither form.
pub(super) fn parse(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds = text.parse().unwrap_or(u64::MAX);
        return Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    let since_epoch = date.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let at = Timestamp::from_seconds(i64::try_from(since_epoch.as_secs()).ok()?);
    Some(at.since(now).min(RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_understood_and_capped() {
        // Sun, 06 Nov 1994 08:49:37 GMT
        let now = Timestamp::from_seconds(784_111_777);
        for (text, seconds) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("99999999999999999999999", Some(86_400)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("Sat, 06 Nov 2094 08:00:00 GMT", Some(86_400)),
            ("-1", None),
            ("soon", None),
            ("", None),
            ("1.5", None),
        ] {
            assert_eq!(parse(text, now), seconds.map(Duration::from_secs), "{text}");
        }
    }
}
