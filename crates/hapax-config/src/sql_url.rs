//! A database that applications write to: that of a `sql` destination or of an outbox.

use std::path::PathBuf;

use hapax_core::Secret;

use super::section::Section;
use super::setting::Key;
use super::store_url::StoreUrl;

/// A database to write to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqlUrl {
    /// PostgreSQL. The URL may contain a password.
    Postgres(Secret),
    /// An SQLite file. A relative path starts at the working directory.
    Sqlite(PathBuf),
}

/// Omits the password.
impl std::fmt::Display for SqlUrl {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Postgres(url) => StoreUrl::Postgres(url.clone()).fmt(formatter),
            Self::Sqlite(path) => write!(formatter, "sqlite:{}", path.display()),
        }
    }
}

pub(super) fn read(
    section: &mut Section<'_, '_, '_>,
    key: &'static Key<Secret>,
    url: &Secret,
) -> Option<SqlUrl> {
    let url = match url.expose().parse() {
        Ok(StoreUrl::Postgres(url)) => SqlUrl::Postgres(url),
        Ok(StoreUrl::Sqlite(path)) => SqlUrl::Sqlite(path),
        // Redis has no transaction that could cover both an effect and its inbox row.
        Ok(StoreUrl::Redis(_)) | Err(_) => {
            section.problem(
                key,
                "this is not a database: write \"postgres://user@host/database\" or \"sqlite:\" and a path, such as \
                 \"sqlite:app.db\"",
            );
            return None;
        }
    };
    section.show(key, url.to_string());
    Some(url)
}
