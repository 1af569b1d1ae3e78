//! The one table of what each role may do, and which requests require all sources. It applies to pages, forms and the
//! API, and the OpenAPI document (`x-role`) and the reference page show it.
//!
//! Requests that are not in it fail closed: a read requires `read`, and a change requires `admin` and all sources.

use http::Method;

use hapax_config::Role;

/// How much of the service a request concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The caller's sources: the result is limited to them.
    Sources,
    /// The whole service: the request cannot be limited to sources.
    Whole,
}

/// What a request requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Right {
    pub role: Role,
    pub reach: Reach,
}

const READ: Right = right(Role::Read, Reach::Sources);
const OPERATE: Right = right(Role::Operate, Reach::Sources);
const OPERATE_WHOLE: Right = right(Role::Operate, Reach::Whole);
const ADMIN: Right = right(Role::Admin, Reach::Sources);
const ADMIN_WHOLE: Right = right(Role::Admin, Reach::Whole);

const fn right(role: Role, reach: Reach) -> Right {
    Right { role, reach }
}

/// Method, path, and what the request requires. Paths of the API are relative to `/api/v1`.
pub const RIGHTS: [(&str, &str, Right); 30] = [
    // The audit trail is not kept by source.
    ("GET", "/audit", right(Role::Read, Reach::Whole)),
    ("GET", "/audit/verify", right(Role::Read, Reach::Whole)),
    ("POST", "/login", READ),
    ("POST", "/logout", READ),
    ("POST", "/logout/oidc", READ),
    ("POST", "/theme", READ),
    ("POST", "/events/{id}/replay", OPERATE),
    ("POST", "/events/{id}/conflicts/{hash}/release", OPERATE),
    ("POST", "/replays", OPERATE),
    ("DELETE", "/replays/{id}", OPERATE),
    ("POST", "/replays/{id}/cancel", OPERATE),
    ("POST", "/deliveries/discard", OPERATE),
    ("POST", "/deliveries/restore", OPERATE),
    ("POST", "/dead/replay", OPERATE),
    ("POST", "/dead/replay/start", OPERATE),
    ("POST", "/dead/discard", OPERATE),
    ("POST", "/dead/restore", OPERATE),
    ("POST", "/destinations/{name}/pause", OPERATE),
    ("POST", "/destinations/{name}/resume", OPERATE),
    ("POST", "/outbox/{name}/{id}/retry", OPERATE),
    ("POST", "/outbox/{name}/rows/{id}/retry", OPERATE),
    // Saved searches are shared, and their names are unique across all sources.
    ("PUT", "/searches/{name}", OPERATE_WHOLE),
    ("DELETE", "/searches/{name}", OPERATE_WHOLE),
    ("POST", "/searches", OPERATE_WHOLE),
    ("POST", "/searches/delete", OPERATE_WHOLE),
    ("POST", "/alerts/test", OPERATE_WHOLE),
    // Requests that let an event take effect again without a trace of the first one, and requests that accept a
    // secret.
    ("DELETE", "/ledger/{source}/{*event_id}", ADMIN),
    ("POST", "/ledger/forget", ADMIN),
    ("POST", "/sources/{name}/registration", ADMIN),
    // Requests that cannot be undone.
    ("POST", "/erasures", ADMIN),
];

/// What this request requires.
pub(crate) fn right_for(method: &Method, path: &str) -> Right {
    let path = path.strip_prefix("/api/v1").unwrap_or(path);
    // `HEAD` is handled like `GET`.
    let name = if method == Method::HEAD {
        "GET"
    } else {
        method.as_str()
    };
    let found = RIGHTS
        .iter()
        .find(|(method, pattern, _)| *method == name && fits(pattern, path));
    match found {
        Some((_, _, right)) => *right,
        None if method.is_safe() => READ,
        None => ADMIN_WHOLE,
    }
}

/// Whether a path matches a pattern, segment by segment, as in the router.
fn fits(pattern: &str, path: &str) -> bool {
    let mut segments = path.split('/');
    for expected in pattern.split('/') {
        let Some(segment) = segments.next() else {
            return false;
        };
        if expected.starts_with("{*") {
            return !segment.is_empty();
        }
        let is_any = expected.starts_with('{') && !segment.is_empty();
        if !is_any && expected != segment {
            return false;
        }
    }
    segments.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_looked_up_segment_by_segment() {
        assert!(fits("/events/{id}/replay", "/events/1/replay"));
        assert!(!fits("/events/{id}/replay", "/events//replay"));
        assert!(!fits("/events/{id}/replay", "/events/1/replay/2"));
        assert!(!fits("/events/{id}/replay", "/events/1"));
        assert!(fits("/ledger/{source}/{*event_id}", "/ledger/shop/a/b/c"));
        assert!(!fits("/ledger/{source}/{*event_id}", "/ledger/shop/"));
    }

    #[test]
    fn what_is_not_in_the_table_fails_closed() {
        assert_eq!(right_for(&Method::GET, "/api/v1/events"), READ);
        assert_eq!(right_for(&Method::HEAD, "/api/v1/audit").reach, Reach::Whole);
        assert_eq!(right_for(&Method::POST, "/api/v1/something/new"), ADMIN_WHOLE);
        assert_eq!(right_for(&Method::POST, "/events/1/replay"), OPERATE);
        assert_eq!(right_for(&Method::DELETE, "/api/v1/ledger/shop/a%2Fb"), ADMIN);
    }
}
