//! Sessions: what a browser holds instead of a token, in the cookie `hapax_session`.
//!
//! The cookie is random. The store keeps the session under the cookie's SHA-256, among what is kept for sources, under
//! the name of a source that cannot be: every replica finds it, and who signs out anywhere is out everywhere. It is
//! looked up for each request; a store that cannot be asked answers 503, never "still valid".

use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use hapax_core::store::SourceState;
use hapax_core::{Backend, Secret, SourceName, Timestamp};
use http::HeaderMap;
use http::header::COOKIE;
use serde::{Deserialize, Serialize};

use super::still::Credential;
use super::{Access, Caller};
use crate::config::Token;
use crate::http::admin::fault::Answer;

/// The cookie.
pub(in crate::http) const COOKIE_NAME: &str = "hapax_session";
/// How long a session lasts at most.
pub(in crate::http) const SESSION_LIFE: Duration = Duration::from_secs(12 * 60 * 60);
/// How long it lasts without a request.
const IDLE_LIFE: Duration = Duration::from_secs(2 * 60 * 60);
/// How often it is written down that it is in use, at most.
const SEEN_EVERY: Duration = Duration::from_secs(60);
/// Sessions that are kept; one more ends the one that would have ended first.
const SESSIONS_MAX: usize = 10_000;
/// Whose they are, for the store: no source has a space in its name.
const KEPT_AS: &str = "hapax sessions";

const FORM_USE: &[u8] = b"hapax form 2";
const TOKEN_USE: &[u8] = b"hapax session 2";

/// What the store keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The name of the token that opened it.
    token: String,
    /// The token's value under a key made of the cookie: a token that is changed ends its sessions, and who reads the
    /// store can guess neither.
    proof: String,
    /// What was typed at the login.
    note: String,
    /// When it was last seen, to the minute.
    seen_at: Timestamp,
    /// When it ends, whatever happens.
    expires_at: Timestamp,
}

/// Names one session.
#[derive(Clone, Debug)]
pub(in crate::http) struct Session {
    /// The SHA-256 of its cookie.
    key: String,
    /// Whose it is.
    token: String,
}

/// A session that is valid.
#[derive(Clone, Debug)]
pub(in crate::http) struct Opened {
    /// Whose it is.
    pub(in crate::http) caller: Caller,
    /// What every form of its pages must carry.
    pub(in crate::http) csrf: String,
    /// Which it is.
    pub(in crate::http) session: Session,
}

/// Keeps a new session for whoever has a token.
pub(super) async fn open(
    store: &dyn Backend,
    cookie: &str,
    token: &Token,
    note: String,
    now: Timestamp,
) -> Answer<()> {
    make_room(store, now).await?;
    let kept = Kept {
        token: token.name.clone(),
        proof: hex::encode(proof(cookie, token)),
        note,
        seen_at: now,
        expires_at: now.plus(SESSION_LIFE),
    };
    Ok(store.put_source_state(kept.state(&key(cookie))).await?)
}

/// The session of a cookie, unless it is over, or its token is not what it was. It is in use now.
pub(super) async fn find(
    access: &Access,
    store: &dyn Backend,
    cookie: &str,
    now: Timestamp,
) -> Answer<Option<Opened>> {
    let Some((mut kept, caller)) = look(access, store, cookie, now).await? else {
        return Ok(None);
    };
    let key = key(cookie);
    if now.since(kept.seen_at) >= SEEN_EVERY {
        kept.seen_at = now;
        // Taken and put in one step: who signs out at this moment stays out.
        if !store
            .take_source_state(&kept_as(), &key, Some(kept.state(&key)))
            .await?
        {
            return Ok(None);
        }
    }
    Ok(Some(Opened {
        caller,
        csrf: form_token(&hmac::Key::new(hmac::HMAC_SHA256, cookie.as_bytes()), b"session"),
        session: Session {
            key,
            token: kept.token,
        },
    }))
}

/// The same without a word about its use: a page that is left open keeps nobody signed in.
pub(super) async fn look(
    access: &Access,
    store: &dyn Backend,
    cookie: &str,
    now: Timestamp,
) -> Answer<Option<(Kept, Caller)>> {
    let state = store.source_state(&kept_as(), &key(cookie)).await?;
    let kept = state.and_then(|state| Kept::read(&state));
    let Some(kept) = kept.filter(|kept| kept.is_open(now)) else {
        return Ok(None);
    };
    let token = access.token_named(&kept.token);
    Ok(token.filter(|token| kept.is_of(token, cookie)).map(|token| {
        let mut caller = Caller::of(token, kept.note.clone());
        caller.credential = Credential::Session(Secret::new(cookie));
        (kept, caller)
    }))
}

impl Session {
    /// Ends it on every replica.
    pub(in crate::http) async fn end(&self, store: &dyn Backend) -> Answer<()> {
        store.take_source_state(&kept_as(), &self.key, None).await?;
        Ok(())
    }

    /// Ends every session of the token that opened this one.
    pub(in crate::http) async fn end_all(&self, store: &dyn Backend) -> Answer<()> {
        for (key, kept) in all(store).await? {
            if kept.token == self.token {
                store.take_source_state(&kept_as(), &key, None).await?;
            }
        }
        Ok(())
    }
}

impl Kept {
    fn is_open(&self, now: Timestamp) -> bool {
        now < self.expires_at && now < self.seen_at.plus(IDLE_LIFE)
    }

    fn is_of(&self, token: &Token, cookie: &str) -> bool {
        let known = hex::decode(&self.proof).unwrap_or_default();
        verify_slices_are_equal(proof(cookie, token).as_ref(), &known).is_ok()
    }

    fn state(&self, key: &str) -> SourceState {
        SourceState {
            source: kept_as(),
            name: key.to_owned(),
            value: serde_json::to_vec(self).unwrap_or_default(),
        }
    }

    /// None for what another version wrote: whoever has it signs in again.
    fn read(state: &SourceState) -> Option<Self> {
        serde_json::from_slice(&state.value).ok()
    }
}

/// Every session, with its key.
async fn all(store: &dyn Backend) -> Answer<Vec<(String, Kept)>> {
    let states = store.source_states().await?.into_iter();
    let ours = states.filter(|state| state.source.as_str() == KEPT_AS);
    Ok(ours
        .filter_map(|state| Kept::read(&state).map(|kept| (state.name, kept)))
        .collect())
}

/// Deletes those that are over, and the oldest where there are too many.
async fn make_room(store: &dyn Backend, now: Timestamp) -> Answer<()> {
    let mut sessions = all(store).await?;
    sessions.sort_by_key(|(_, kept)| (kept.is_open(now), kept.expires_at));
    let over = sessions.iter().filter(|(_, kept)| !kept.is_open(now)).count();
    let too_many = (sessions.len() + 1).saturating_sub(SESSIONS_MAX);
    for (key, _) in sessions.iter().take(over.max(too_many)) {
        store.take_source_state(&kept_as(), key, None).await?;
    }
    Ok(())
}

fn kept_as() -> SourceName {
    SourceName::from(KEPT_AS)
}

fn key(cookie: &str) -> String {
    hex::encode(digest(&SHA256, cookie.as_bytes()))
}

fn proof(cookie: &str, token: &Token) -> hmac::Tag {
    let key = hmac::Key::new(hmac::HMAC_SHA256, cookie.as_bytes());
    let mut context = hmac::Context::with_key(&key);
    context.update(TOKEN_USE);
    context.update(token.token.expose().as_bytes());
    context.sign()
}

/// What a form must carry, for a session or for whoever is let in without one.
pub(super) fn form_token(key: &hmac::Key, whose: &[u8]) -> String {
    let mut context = hmac::Context::with_key(key);
    context.update(FORM_USE);
    context.update(whose);
    hex::encode(context.sign())
}

/// The value of one of the request's cookies.
pub(in crate::http) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
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
    use crate::config::Role;

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
        open(store, cookie, token, "Ada".to_owned(), NOON).await.unwrap();
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

    #[tokio::test]
    async fn sessions_that_are_over_are_deleted_at_the_next_login() {
        let (_folder, store) = store();
        sign_in(&store, "old", "admin").await;
        let access = access("secret");
        let token = access.token_named("ci").unwrap();
        let later = NOON.plus(SESSION_LIFE);
        open(&store, "new", token, String::new(), later).await.unwrap();
        let kept = store.source_states().await.unwrap();
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
