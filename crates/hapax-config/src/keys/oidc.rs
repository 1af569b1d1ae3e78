//! `[server.oidc]`.

use super::{NONE, REQUIRED, SECRET, TEXT, Table, key};

/// `[server.oidc]`.
pub static OIDC: Table = Table {
    header: "[server.oidc]",
    help: "Sign-in to the dashboard at an identity provider (OpenID Connect), beside the tokens. `docs/guides/access.md` \
           says what to enter at the provider. Needs `admin_token`. A change takes effect on a reload, and ends the \
           sessions that the old settings opened.",
    keys: &[
        key(
            "issuer",
            "URL",
            REQUIRED,
            "The provider, exactly as its ID tokens name it in `iss`, with or without a slash at the end. `https`, unless it runs on this machine.",
        ),
        key(
            "discovery_url",
            "URL",
            "`issuer` and `/.well-known/openid-configuration`",
            "Where the provider describes itself, if this service reaches it under another name than browsers do.",
        ),
        key(
            "ca",
            "path",
            NONE,
            "A PEM file with the authorities that sign the provider's certificate, beside the public ones: for a provider with a company's own certificate.",
        ),
        key(
            "client_id",
            TEXT,
            REQUIRED,
            "What the provider calls this service.",
        ),
        key(
            "client_secret",
            SECRET,
            NONE,
            "The secret of this client. Leave it out for a public client: PKCE is always used.",
        ),
        key(
            "dashboard_url",
            "URL",
            REQUIRED,
            "Where browsers open the dashboard. The provider must allow the redirect URL `<dashboard_url>/login/oidc/callback`.",
        ),
        key(
            "scopes",
            "list of strings",
            "`[\"profile\", \"email\"]`",
            "What to ask the provider for beside `openid`; many have the groups of a user under a scope of their own.",
        ),
        key(
            "role_claim",
            TEXT,
            REQUIRED,
            "The claim whose values give a role: its name, such as `groups`, or a JSON Pointer, such as `/resource_access/hapax/roles`. It is looked up in the ID token, and then in UserInfo.",
        ),
        key(
            "roles",
            "table",
            REQUIRED,
            "Which value of the claim gives which role: `{ \"platform-team\" = \"admin\", \"staff\" = \"read\" }`. The highest role wins; users without one cannot sign in.",
        ),
        key(
            "sources_claim",
            TEXT,
            NONE,
            "The claim that names the sources that a user sees, found as `role_claim` is; `*` is every source. Whoever has none is not let in. Without this key everybody sees every source.",
        ),
    ],
};
