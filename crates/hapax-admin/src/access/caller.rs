//! An admitted caller: who they are, what they may do, and which sources they see.

use hapax_core::store::Actor;
use http::{HeaderMap, Method};

use super::NOTE_BYTES_MAX;
use super::credential::Credential;
use super::oidc::User;
use super::rights::{Reach, right_for};
use super::visible::VisibleSources;
use crate::api_error::{ApiError, ApiResult};
use hapax_api::NOTE_HEADER;
use hapax_api::problem::Code;
use hapax_config::{Role, Token};

/// The name of a caller without a token in the audit trail.
const LOCAL: &str = "local";
/// Prefix of the names of users from the identity provider. No token has a name with it.
const OIDC_PREFIX: &str = "oidc:";

/// An admitted caller.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Their name in the audit trail, and their own note.
    pub actor: Actor,
    pub role: Role,
    pub visible: VisibleSources,
    /// The credential that admitted them.
    pub(crate) credential: Credential,
}

impl Caller {
    /// A caller with a token.
    pub(super) fn of(token: &Token, note: String) -> Self {
        let name = token.name.clone();
        Self {
            actor: Actor { name, note },
            role: token.role,
            visible: token.sources.clone().into(),
            credential: Credential::Token(token.token.clone()),
        }
    }

    /// A user who signed in at the identity provider.
    pub(super) fn of_user(user: &User, credential: Credential) -> Self {
        Self {
            actor: Actor {
                name: format!("{OIDC_PREFIX}{}", user.subject),
                note: user.note.clone(),
            },
            role: user.role,
            visible: user.sources.clone().into(),
            credential,
        }
    }

    /// A caller on this machine, where no token is configured.
    pub fn local(note: String) -> Self {
        let name = LOCAL.to_owned();
        Self {
            actor: Actor { name, note },
            role: Role::Admin,
            visible: VisibleSources::All,
            credential: Credential::None,
        }
    }

    /// Checks whether they may make this request.
    pub fn check(&self, method: &Method, path: &str) -> ApiResult<()> {
        let right = right_for(method, path);
        self.check_role(right.role)?;
        match (right.reach, self.visible.is_all()) {
            (Reach::Sources, _) | (Reach::Whole, true) => Ok(()),
            (Reach::Whole, false) => Err(ApiError::new(
                Code::SourcesLimited,
                format!(
                    "you can see only {}, and this request concerns the whole service, so it cannot be limited to them",
                    self.visible.words()
                ),
            )),
        }
    }

    /// Checks whether their role suffices.
    pub fn check_role(&self, needed: Role) -> ApiResult<()> {
        if self.role >= needed {
            return Ok(());
        }
        Err(ApiError::role_too_low(&self.actor.name, self.role, needed))
    }

    /// Whether [`Self::check`] passes.
    pub fn may(&self, method: &Method, path: &str) -> bool {
        self.check(method, path).is_ok()
    }
}

/// The note that a client sends about the caller.
pub(super) fn note(headers: &HeaderMap) -> ApiResult<String> {
    let Some(value) = headers.get(NOTE_HEADER) else {
        return Ok(String::new());
    };
    checked_note(std::str::from_utf8(value.as_bytes()).unwrap_or("\0"))
}

/// Validates a note for the audit trail.
pub fn checked_note(text: &str) -> ApiResult<String> {
    let note = text.trim();
    if note.len() > NOTE_BYTES_MAX || note.chars().any(char::is_control) {
        return Err(ApiError::invalid_parameter(format!(
            "a note has at most {NOTE_BYTES_MAX} bytes of UTF-8 and no control characters"
        )));
    }
    Ok(note.to_owned())
}
