//! Maps the provider's claims about a user to a role and sources.

use std::collections::BTreeSet;

use hapax_core::SourceName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::claims::LoggedOut;
use crate::access::NOTE_BYTES_MAX;
use crate::api_error::{ApiError, ApiResult};
use hapax_config::{Claim, Oidc, Role};

/// The value of the sources claim that means all sources.
const EVERY_SOURCE: &str = "*";
/// Maximum number of claim values quoted in a refusal.
const QUOTED_MAX: usize = 8;
/// Claims with a display name, best first. Any of them may change, so none is an identity.
const NAMES: [&str; 3] = ["preferred_username", "email", "name"];

/// A user who signed in at the provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Their id at the provider, which never changes.
    pub subject: String,
    /// Their session at the provider, if it reports one.
    pub sid: Option<String>,
    /// Their display name.
    pub note: String,
    pub role: Role,
    /// The sources they see; `None` means all.
    pub sources: Option<BTreeSet<SourceName>>,
}

impl User {
    /// Whether the provider has ended their session: this one, or all of theirs if it does not say which.
    pub fn is_logged_out(&self, logged_out: &LoggedOut) -> bool {
        let is_theirs = |subject: &String| *subject == self.subject;
        match &logged_out.sid {
            Some(sid) => self.sid.as_ref() == Some(sid) && logged_out.subject.as_ref().is_none_or(is_theirs),
            None => logged_out.subject.as_ref().is_some_and(is_theirs),
        }
    }
}

/// Whether the ID token contains all required claims.
pub(super) fn is_whole(oidc: &Oidc, id_token: &Value) -> bool {
    let mut needed = [Some(&oidc.role_claim), oidc.sources_claim.as_ref()]
        .into_iter()
        .flatten();
    needed.all(|claim| claim.find(id_token).is_some())
}

/// The user of an ID token, supplemented by UserInfo. A user without a role is refused.
pub(super) fn user(oidc: &Oidc, id_token: &Value, user_info: &Value) -> ApiResult<User> {
    let text = |name: &str| id_token.get(name).and_then(Value::as_str).map(str::to_owned);
    let subject = text("sub").unwrap_or_default();
    let of_claim = |claim: &Claim| {
        let told_by = if claim.find(id_token).is_some() {
            id_token
        } else {
            user_info
        };
        claim
            .texts(told_by)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let note = [id_token, user_info]
        .iter()
        .flat_map(|claims| NAMES.map(|name| claims.get(name)))
        .find_map(|name| name.and_then(Value::as_str))
        .map(shortened)
        .unwrap_or_default();
    let refused = |claim: &Claim, values: &[String], missing: &str| {
        tracing::warn!(subject, claim = claim.as_str(), "a user without access signed in");
        let who = if note.is_empty() { &subject } else { &note };
        ApiError::no_role(who, claim.as_str(), &quoted(values), missing)
    };
    let values = of_claim(&oidc.role_claim);
    let role = values.iter().filter_map(|value| oidc.roles.get(value)).max();
    let Some(role) = role.copied() else {
        return Err(refused(
            &oidc.role_claim,
            &values,
            "is mapped to a role in `server.oidc.roles`",
        ));
    };
    let sources = match &oidc.sources_claim {
        None => None,
        Some(claim) => match of_claim(claim) {
            values if values.is_empty() => return Err(refused(claim, &values, "names a source")),
            values if values.iter().any(|value| value == EVERY_SOURCE) => None,
            values => Some(values.into_iter().map(SourceName::from).collect()),
        },
    };
    Ok(User {
        sid: text("sid"),
        note,
        role,
        sources,
        subject,
    })
}

fn quoted(values: &[String]) -> String {
    let shown: Vec<String> = values
        .iter()
        .take(QUOTED_MAX)
        .map(|value| format!("`{value}`"))
        .collect();
    match (values.len(), values.len().saturating_sub(QUOTED_MAX)) {
        (0, _) => "nothing".to_owned(),
        (_, 0) => shown.join(", "),
        (_, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Shortens a name to a valid note for the audit trail.
fn shortened(name: &str) -> String {
    let mut name: String = name.chars().filter(|letter| !letter.is_control()).collect();
    while name.len() > NOTE_BYTES_MAX {
        name.pop();
    }
    name
}
