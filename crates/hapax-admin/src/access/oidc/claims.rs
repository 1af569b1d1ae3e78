//! The checks on a token with a valid signature: issued by our provider, for this client, valid now, and for this
//! sign-in.

use serde_json::Value;

use hapax_config::Oidc;

/// Tolerated clock difference, in seconds.
const LEEWAY_SECONDS: i64 = 60;
/// Maximum length of a user's id, from the specification.
const SUBJECT_BYTES_MAX: usize = 255;
/// The event that makes a token a logout token.
const LOGOUT_EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// The sessions that a logout ends.
#[derive(Debug, PartialEq, Eq)]
pub struct LoggedOut {
    /// One session at the provider.
    pub sid: Option<String>,
    /// All sessions of a user.
    pub subject: Option<String>,
}

/// Checks that an ID token is for this sign-in.
pub(super) fn check_id_token(claims: &Value, oidc: &Oidc, nonce: &str, now: i64) -> Result<(), String> {
    check_parties(claims, oidc)?;
    check_time(claims, now)?;
    if text(claims, "nonce") != Some(nonce) {
        return Err("its `nonce` is not that of this sign-in".to_owned());
    }
    match text(claims, "sub") {
        Some(subject) if is_subject(subject) => Ok(()),
        Some(_) | None => Err("its `sub` is missing, or not an id of a user".to_owned()),
    }
}

/// Checks a logout token, and returns the sessions to end.
pub(super) fn check_logout_token(claims: &Value, oidc: &Oidc, now: i64) -> Result<LoggedOut, String> {
    check_parties(claims, oidc)?;
    check_time(claims, now)?;
    let is_event = claims.get("events").and_then(|events| events.get(LOGOUT_EVENT));
    if !is_event.is_some_and(Value::is_object) {
        return Err(format!("its `events` do not have `{LOGOUT_EVENT}`"));
    }
    // ID tokens have a nonce; they must not sign anyone out.
    if claims.get("nonce").is_some() {
        return Err("it has a `nonce`".to_owned());
    }
    let owned = |name: &str| text(claims, name).map(str::to_owned);
    let logged_out = LoggedOut {
        sid: owned("sid"),
        subject: owned("sub"),
    };
    if logged_out.sid.is_none() && logged_out.subject.is_none() {
        return Err("it has neither `sid` nor `sub`".to_owned());
    }
    Ok(logged_out)
}

fn check_parties(claims: &Value, oidc: &Oidc) -> Result<(), String> {
    let issuer = text(claims, "iss").unwrap_or_default();
    if issuer != oidc.issuer {
        return Err(format!(
            "its `iss` is `{issuer}`, and `server.oidc.issuer` is `{}`; they must be equal, including the trailing \
             slash",
            oidc.issuer
        ));
    }
    let client = oidc.client_id.as_str();
    let (is_ours, is_shared) = match claims.get("aud") {
        Some(Value::String(audience)) => (audience == client, false),
        Some(Value::Array(several)) => (several.iter().any(|one| one == client), several.len() > 1),
        Some(_) | None => (false, false),
    };
    let party = claims.get("azp");
    let is_for_us = party.map_or(!is_shared, |party| party == client);
    if is_ours && is_for_us {
        return Ok(());
    }
    Err(format!(
        "it was issued for another client than `{client}` (`aud`, `azp`)"
    ))
}

fn check_time(claims: &Value, now: i64) -> Result<(), String> {
    let time = |name: &str| match claims.get(name) {
        None => Ok(None),
        Some(value) => {
            let seconds = value
                .as_i64()
                .or_else(|| value.as_f64().map(|seconds| seconds as i64));
            seconds
                .map(Some)
                .ok_or_else(|| format!("its `{name}` is not a time"))
        }
    };
    let ends = time("exp")?.ok_or("it has no `exp`")?;
    if now.saturating_sub(ends) >= LEEWAY_SECONDS {
        return Err(format!("it expired {} s ago", now.saturating_sub(ends)));
    }
    let begins = time("iat")?.max(time("nbf")?).unwrap_or(now);
    if begins.saturating_sub(now) > LEEWAY_SECONDS {
        return Err(format!(
            "it is not valid for another {} s; compare the clocks of this machine and the provider",
            begins.saturating_sub(now)
        ));
    }
    Ok(())
}

fn is_subject(text: &str) -> bool {
    (1..=SUBJECT_BYTES_MAX).contains(&text.len()) && !text.chars().any(char::is_control)
}

fn text<'a>(claims: &'a Value, name: &str) -> Option<&'a str> {
    claims.get(name).and_then(Value::as_str)
}
