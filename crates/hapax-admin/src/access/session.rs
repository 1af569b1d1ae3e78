//! Sessions: what a browser holds in place of a token, in the cookie `hapax_session`.
//!
//! The cookie is random. The store keeps the session under the cookie's SHA-256, as a value of a source name that
//! cannot exist: every replica finds it, and signing out on one replica signs out on all. The session is looked
//! up for every request. If the store cannot be read, the response is 503, never "still valid".

use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use hapax_core::store::{NamedValue, ValueSpace, ValueSwap};
use hapax_core::{Backend, SourceName, Timestamp};
use http::HeaderMap;
use http::header::COOKIE;
use serde::{Deserialize, Serialize};

use super::opener::Opener;
use super::{Access, Caller};
use crate::api_error::ApiResult;

/// The name of the cookie.
pub const COOKIE_NAME: &str = "hapax_session";
/// Maximum lifetime of a session.
pub const SESSION_LIFE: Duration = Duration::from_secs(12 * 60 * 60);
/// Maximum lifetime without a request.
const IDLE_LIFE: Duration = Duration::from_secs(2 * 60 * 60);
/// Minimum time between updates of the last use.
const SEEN_EVERY: Duration = Duration::from_secs(60);
/// Maximum number of sessions. Beyond it, the one that expires first is ended.
const SESSIONS_MAX: usize = 10_000;
/// The source name they are stored under. No source has a space in its name.
const KEPT_AS: &str = "hapax sessions";

const FORM_USE: &[u8] = b"hapax form 2";

/// A session as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    opener: Opener,
    /// When it was last used, to the minute.
    seen_at: Timestamp,
    /// When it ends at the latest.
    expires_at: Timestamp,
}

/// Identifies one session.
#[derive(Clone, Debug)]
pub struct Session {
    /// The SHA-256 of its cookie.
    key: String,
    opener: Opener,
}

/// A valid session.
#[derive(Clone, Debug)]
pub struct Opened {
    pub caller: Caller,
    /// The token that every form of its pages must carry.
    pub csrf: String,
    pub session: Session,
}

/// Stores a new session.
pub(super) async fn open(store: &dyn Backend, cookie: &str, opener: Opener, now: Timestamp) -> ApiResult<()> {
    make_room(store, now).await?;
    let kept = Kept {
        opener,
        seen_at: now,
        expires_at: now.plus(SESSION_LIFE),
    };
    let put = ValueSwap::put(space(), kept.value(&key(cookie)));
    store.swap_value(put).await?;
    Ok(())
}

/// The session of a cookie, unless it has ended or its token or `[server.oidc]` has changed. Marks it as used.
pub(super) async fn find(
    access: &Access,
    store: &dyn Backend,
    cookie: &str,
    now: Timestamp,
) -> ApiResult<Option<Opened>> {
    let Some((mut kept, caller)) = look(access, store, cookie, now).await? else {
        return Ok(None);
    };
    let key = key(cookie);
    if now.since(kept.seen_at) >= SEEN_EVERY {
        kept.seen_at = now;
        // One atomic step, so that a session that ends at this moment stays ended.
        let seen = ValueSwap::take(space(), key.as_str(), Some(kept.value(&key)));
        if !store.swap_value(seen).await?.is_done() {
            return Ok(None);
        }
    }
    Ok(Some(Opened {
        caller,
        csrf: form_token(&hmac::Key::new(hmac::HMAC_SHA256, cookie.as_bytes()), b"session"),
        session: Session {
            key,
            opener: kept.opener,
        },
    }))
}

/// The same without marking it as used: a page that is left open does not keep a session alive.
pub(super) async fn look(
    access: &Access,
    store: &dyn Backend,
    cookie: &str,
    now: Timestamp,
) -> ApiResult<Option<(Kept, Caller)>> {
    let value = store.value(&space(), &key(cookie)).await?;
    let kept = value.and_then(|value| Kept::read(&value));
    let Some(kept) = kept.filter(|kept| kept.is_open(now)) else {
        return Ok(None);
    };
    let caller = kept.opener.caller(access, cookie);
    Ok(caller.map(|caller| (kept, caller)))
}

impl Session {
    /// Ends it on every replica.
    pub async fn end(&self, store: &dyn Backend) -> ApiResult<()> {
        remove(store, &self.key).await
    }

    /// Ends every session of the token, or of the user, that opened this one.
    pub async fn end_all(&self, store: &dyn Backend) -> ApiResult<()> {
        end_where(store, |opener| opener.is_same(&self.opener)).await
    }
}

/// Ends every session with a matching opener.
pub(super) async fn end_where(store: &dyn Backend, ends: impl Fn(&Opener) -> bool) -> ApiResult<()> {
    for (key, kept) in all(store).await? {
        if ends(&kept.opener) {
            remove(store, &key).await?;
        }
    }
    Ok(())
}

impl Kept {
    fn is_open(&self, now: Timestamp) -> bool {
        now < self.expires_at && now < self.seen_at.plus(IDLE_LIFE)
    }

    fn value(&self, key: &str) -> NamedValue {
        NamedValue::new(key, serde_json::to_vec(self).unwrap_or_default())
    }

    /// `None` if another version wrote it: the user must sign in again.
    fn read(value: &[u8]) -> Option<Self> {
        serde_json::from_slice(value).ok()
    }
}

/// Every session, with its key.
async fn all(store: &dyn Backend) -> ApiResult<Vec<(String, Kept)>> {
    let values = store.values(&space()).await?.into_iter();
    Ok(values
        .filter_map(|value| Kept::read(&value.value).map(|kept| (value.name, kept)))
        .collect())
}

async fn remove(store: &dyn Backend, key: &str) -> ApiResult<()> {
    store.swap_value(ValueSwap::take(space(), key, None)).await?;
    Ok(())
}

/// Deletes ended sessions, and the oldest if there are too many.
async fn make_room(store: &dyn Backend, now: Timestamp) -> ApiResult<()> {
    let mut sessions = all(store).await?;
    sessions.sort_by_key(|(_, kept)| (kept.is_open(now), kept.expires_at));
    let over = sessions.iter().filter(|(_, kept)| !kept.is_open(now)).count();
    let too_many = (sessions.len() + 1).saturating_sub(SESSIONS_MAX);
    for (key, _) in sessions.iter().take(over.max(too_many)) {
        remove(store, key).await?;
    }
    Ok(())
}

fn space() -> ValueSpace {
    ValueSpace::Source(SourceName::from(KEPT_AS))
}

fn key(cookie: &str) -> String {
    hex::encode(digest(&SHA256, cookie.as_bytes()))
}

/// The token that a form must carry, for a session or for callers without one.
pub(super) fn form_token(key: &hmac::Key, whose: &[u8]) -> String {
    let mut context = hmac::Context::with_key(key);
    context.update(FORM_USE);
    context.update(whose);
    hex::encode(context.sign())
}

/// The value of a cookie in the request.
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(COOKIE).iter();
    all.filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hapax_core::store::Operations as _;
    use hapax_core::{Secret, SystemClock};
    use hapax_store_sqlite::{Options, SqliteStore};

    use super::*;
    use crate::access::oidc::{LoggedOut, User};
    use hapax_config::{Oidc, Role, Token};

    const NOON: Timestamp = Timestamp::from_seconds(1_767_225_600);

    fn store() -> (tempfile::TempDir, SqliteStore) {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new(Arc::new(SystemClock::default()));
        let store = SqliteStore::open(&folder.path().join("hapax.db"), options).unwrap();
        (folder, store)
    }

    fn access(admin: &str) -> Access {
        let ci = Token {
            name: "ci".to_owned(),
            token: Secret::new("of-ci"),
            role: Role::Read,
            sources: None,
        };
        Access::new(
            Some(Secret::new(admin)),
            vec![ci],
            "127.0.0.1:8081".parse().unwrap(),
        )
    }

    async fn sign_in(store: &dyn Backend, cookie: &str, name: &str) {
        let access = access("secret");
        let token = access.token_named(name).unwrap();
        let opener = Opener::token(token, cookie, "Ada".to_owned());
        open(store, cookie, opener, NOON).await.unwrap();
    }

    async fn who(store: &dyn Backend, access: &Access, cookie: &str, at: Timestamp) -> Option<String> {
        let opened = find(access, store, cookie, at).await.unwrap();
        opened.map(|opened| opened.caller.actor.name)
    }

    #[tokio::test]
    async fn a_session_ends_with_its_time_its_idleness_and_its_token() {
        let (_folder, store) = store();
        sign_in(&store, "cookie", "admin").await;
        let access = access("secret");
        assert_eq!(
            who(&store, &access, "cookie", NOON).await.as_deref(),
            Some("admin")
        );
        assert_eq!(who(&store, &access, "another", NOON).await, None);
        assert_eq!(
            who(&store, &super::tests::access("changed"), "cookie", NOON).await,
            None
        );
        assert_eq!(who(&store, &access, "cookie", NOON.plus(IDLE_LIFE)).await, None);
        let mut now = NOON;
        while now < NOON.plus(SESSION_LIFE) {
            assert!(who(&store, &access, "cookie", now).await.is_some(), "{now}");
            now = now.plus(Duration::from_secs(3_600));
        }
        assert_eq!(who(&store, &access, "cookie", now).await, None);
    }

    #[tokio::test]
    async fn who_signs_out_everywhere_ends_every_session_of_the_token_and_no_other() {
        let (_folder, store) = store();
        for (cookie, name) in [("a", "admin"), ("b", "admin"), ("c", "ci")] {
            sign_in(&store, cookie, name).await;
        }
        let access = access("secret");
        let first = find(&access, &store, "a", NOON).await.unwrap().unwrap();
        first.session.end(&store).await.unwrap();
        assert_eq!(who(&store, &access, "a", NOON).await, None);
        assert!(who(&store, &access, "b", NOON).await.is_some());
        first.session.end_all(&store).await.unwrap();
        assert_eq!(who(&store, &access, "b", NOON).await, None);
        assert!(who(&store, &access, "c", NOON).await.is_some());
    }

    fn oidc(role: Role) -> Oidc {
        let text = format!(
            "[server]\nadmin_token = \"0123456789abcdef\"\n[server.oidc]\nissuer = \"https://login.example.com\"\n\
             client_id = \"hapax\"\ndashboard_url = \"https://hapax.example.com\"\nrole_claim = \"groups\"\n\
             roles = {{ staff = \"{}\" }}\n",
            role.as_str()
        );
        let path = std::path::Path::new("hapax.toml");
        let config = hapax_config::parse(&text, path, &hapax_config::Environment::with([]), &[]);
        config.unwrap().server.oidc.unwrap()
    }

    fn user(subject: &str, sid: &str) -> User {
        User {
            subject: subject.to_owned(),
            sid: Some(sid.to_owned()),
            note: "ada@example.com".to_owned(),
            role: Role::Operate,
            sources: Some([SourceName::from("stripe")].into()),
        }
    }

    #[tokio::test]
    async fn a_user_has_what_the_provider_said_until_the_settings_change() {
        let (_folder, store) = store();
        let settings = oidc(Role::Operate);
        open(&store, "a", Opener::user(&settings, user("ada", "1")), NOON)
            .await
            .unwrap();
        let access = access("secret").with_oidc(Some(settings));
        let caller = find(&access, &store, "a", NOON).await.unwrap().unwrap().caller;
        assert_eq!(
            (caller.actor.name.as_str(), caller.actor.note.as_str()),
            ("oidc:ada", "ada@example.com")
        );
        assert_eq!(caller.role, Role::Operate);
        assert!(caller.visible.sees("stripe") && !caller.visible.sees("github"));
        for other in [None, Some(oidc(Role::Read))] {
            assert_eq!(
                who(&store, &access.clone().with_oidc(other), "a", NOON).await,
                None
            );
        }
    }

    #[tokio::test]
    async fn a_logout_of_the_provider_ends_the_session_that_it_names_or_all_of_the_user() {
        let settings = oidc(Role::Operate);
        let of = |sid: Option<&str>, subject: Option<&str>| LoggedOut {
            sid: sid.map(str::to_owned),
            subject: subject.map(str::to_owned),
        };
        for (logged_out, left) in [
            (of(Some("1"), Some("ada")), "bc"),
            (of(Some("1"), None), "bc"),
            (of(Some("1"), Some("bob")), "abc"),
            (of(Some("9"), Some("ada")), "abc"),
            (of(None, Some("ada")), "c"),
            (of(None, None), "abc"),
        ] {
            let (_folder, store) = store();
            for (cookie, subject, sid) in [("a", "ada", "1"), ("b", "ada", "2"), ("c", "bob", "3")] {
                open(&store, cookie, Opener::user(&settings, user(subject, sid)), NOON)
                    .await
                    .unwrap();
            }
            end_where(&store, |opener| opener.is_logged_out(&settings, &logged_out))
                .await
                .unwrap();
            let access = access("secret").with_oidc(Some(settings.clone()));
            let mut open = String::new();
            for cookie in ["a", "b", "c"] {
                if who(&store, &access, cookie, NOON).await.is_some() {
                    open.push_str(cookie);
                }
            }
            assert_eq!(open, left, "{logged_out:?}");
        }
    }

    #[tokio::test]
    async fn sessions_that_are_over_are_deleted_at_the_next_login() {
        let (_folder, store) = store();
        sign_in(&store, "old", "admin").await;
        let access = access("secret");
        let token = access.token_named("ci").unwrap();
        let later = NOON.plus(SESSION_LIFE);
        let opener = Opener::token(token, "new", String::new());
        open(&store, "new", opener, later).await.unwrap();
        let kept = store.values(&space()).await.unwrap();
        assert_eq!(kept.len(), 1);
        let text = String::from_utf8(kept[0].value.clone()).unwrap();
        assert!(!text.contains("of-ci") && !text.contains("new"), "{text}");
    }

    #[tokio::test]
    async fn two_sessions_have_two_form_tokens() {
        let (_folder, store) = store();
        sign_in(&store, "a", "admin").await;
        sign_in(&store, "b", "admin").await;
        let access = access("secret");
        let csrf = async |cookie| find(&access, &store, cookie, NOON).await.unwrap().unwrap().csrf;
        assert_ne!(csrf("a").await, csrf("b").await);
    }
}
