//! `[[server.tokens]]`: tokens with a name, a role, and the sources that they can see.

use std::collections::BTreeSet;

use hapax_core::{Secret, SourceName};

use super::name::parse_name;
use super::section::Section;
use super::setting::{Key, Table, words};

pub(super) static ADMIN_TOKEN: Key<Secret> = Key::optional(
    "admin_token",
    "The bearer token of the admin API: it has full access, and the audit trail calls it `admin`. Required where `admin_listen` is not a loopback address.",
);

pub(super) static TOKENS: Key<toml::Table> = Key::optional(
    "tokens",
    "Tokens in addition to `admin_token`, one `[[server.tokens]]` each; up to 64. Needs `admin_token`.",
)
.named("tables");

static NAME: Key<String> = Key::required(
    "name",
    "The name that the audit trail shows for this token. `admin` and `local` are reserved.",
)
.named("name");

static SECRET: Key<Secret> = Key::required("token", "The token, at least 16 characters.");

static ROLE: Key<Role> = Key::required(
    "role",
    "The role of this token; see the table in the [guide](../guides/access.md).",
);

static SOURCES: Key<Vec<String>> = Key::depends(
    "sources",
    "all",
    "The only sources whose events, deliveries and figures this token can read and change. Requests that cannot be limited to them are refused.",
)
.named("names");

pub(super) static TOKEN: Table = Table {
    header: "[[server.tokens]]",
    help: "A token for the admin API and the dashboard, in addition to `admin_token`.",
    keys: &[&NAME, &SECRET, &ROLE, &SOURCES],
};

/// A shorter token can be guessed.
pub const ADMIN_TOKEN_BYTES_MIN: usize = 16;

/// Every token is compared with the one that a caller sends.
const TOKENS_MAX: usize = 64;
/// Reserved names: `server.admin_token`, and callers that need no token.
const TAKEN: [&str; 2] = ["admin", "local"];

/// The permissions of a caller. Each role includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// View only.
    Read,
    /// Manage deliveries: replay, pause, discard, release.
    Operate,
    /// Everything, including actions that cannot be undone.
    Admin,
}

words!(Role { Read, Operate, Admin });

impl Role {
    /// The role's name as written in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Operate => "operate",
            Self::Admin => "admin",
        }
    }

    /// Whether the role may see signatures and other credentials with which a request could be sent.
    pub fn can_see_proofs(self) -> bool {
        self >= Self::Operate
    }
}

/// A token in addition to the admin token.
#[derive(Clone, Debug)]
pub struct Token {
    /// The caller's name in the audit trail.
    pub name: String,
    /// The value that callers send.
    pub token: Secret,
    pub role: Role,
    /// The sources that callers can see; `None` means all of them.
    pub sources: Option<BTreeSet<SourceName>>,
}

/// Every valid token. Each must be as hard to guess as the admin token, and no two may be the same.
pub(super) fn read(section: &mut Section<'_, '_, '_>, admin_token: Option<&Secret>) -> Vec<Token> {
    let tables = section.tables(&TOKENS);
    if tables.len() > TOKENS_MAX {
        let message = format!(
            "there are {} tokens; at most {TOKENS_MAX} are allowed",
            tables.len()
        );
        section.problem(&TOKENS, message);
    }
    if !tables.is_empty() && !section.has(&ADMIN_TOKEN) {
        section.problem(
            &TOKENS,
            "without `admin_token`, anyone on this machine has full access; set one, such as \"env:HAPAX_ADMIN_TOKEN\"",
        );
    }
    let mut tokens: Vec<Token> = Vec::new();
    let mut shown = Vec::new();
    for (path, table) in tables {
        let mut of_token = Section::open(path, &TOKEN, Some(table), [].into(), section.report);
        tokens.extend(read_one(&mut of_token, admin_token, &tokens));
        shown.push(of_token.into_value());
    }
    if !shown.is_empty() {
        section.show(&TOKENS, shown);
    }
    tokens
}

fn read_one(
    section: &mut Section<'_, '_, '_>,
    admin_token: Option<&Secret>,
    before: &[Token],
) -> Option<Token> {
    for name in [NAME.name(), SECRET.name(), ROLE.name()] {
        if !section.has(name) {
            section.missing(
                name,
                "write such as name = \"ci\", token = \"env:CI_TOKEN\", role = \"read\"",
            );
        }
    }
    let name = section.parsed(&NAME, parse_name);
    let is_taken =
        |name: &String| TAKEN.contains(&name.as_str()) || before.iter().any(|token| token.name == *name);
    if name.as_ref().is_some_and(is_taken) {
        section.problem(
            &NAME,
            "another token already has this name, and the audit trail shows only the name; choose a different one",
        );
    }
    let token = section.secret(&SECRET);
    if let Some(token) = &token {
        if token.expose().len() < ADMIN_TOKEN_BYTES_MIN {
            let message = format_args!(
                "a token of fewer than {ADMIN_TOKEN_BYTES_MIN} characters can be guessed; `openssl rand -hex 32` \
                 generates one"
            );
            section.problem(&SECRET, message);
        }
        if admin_token == Some(token) || before.iter().any(|other| other.token == *token) {
            section.problem(
                &SECRET,
                "another token has the same value; use a different value for each",
            );
        }
    }
    let role = section.find(&ROLE);
    let sources = read_sources(section);
    Some(Token {
        name: name?,
        token: token?,
        role: role?,
        sources,
    })
}

/// The sources that a caller can see. An unknown name is not an error, because events can outlive their source's table.
fn read_sources(section: &mut Section<'_, '_, '_>) -> Option<BTreeSet<SourceName>> {
    let names = section.texts(&SOURCES)?;
    if names.is_empty() {
        section.problem(
            &SOURCES,
            "the list is empty, so the token could see nothing; remove it to allow every source",
        );
    }
    Some(
        names
            .into_iter()
            .map(|(_, name)| SourceName::from(name))
            .collect(),
    )
}
