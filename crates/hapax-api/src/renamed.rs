//! Names from earlier versions. None of them works any longer: every error that refuses one says the new name.

use super::problem::Code;

/// Where a name is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A command, such as `events copy`.
    Command,
    /// A command-line option, such as `--view`.
    Flag,
    /// An environment variable.
    Variable,
    /// A path segment of the API.
    Path,
    /// A key of the query language.
    SearchKey,
    /// A value in `hapax.toml` with its key, such as `on_conflict = "quarantine"`.
    Setting,
    /// A problem code.
    Code,
}

/// Renamed names: the kind, the old name, the new name.
pub const RENAMED: &[(Kind, &str, &str)] = &[
    (Kind::Command, "events copy", "events export"),
    (Kind::Command, "store copy", "store migrate"),
    (Kind::Command, "views", "searches"),
    (Kind::Flag, "--copies", "--times"),
    (Kind::Flag, "--over", "--range"),
    (Kind::Flag, "--view", "--saved-search"),
    (Kind::Variable, "HAPAX_COPY_FROM", "HAPAX_MIGRATE_FROM"),
    (Kind::Variable, "HAPAX_COPY_TO", "HAPAX_MIGRATE_TO"),
    (Kind::Path, "copy", "export"),
    (Kind::Path, "views", "searches"),
    (Kind::SearchKey, "copies", "duplicates"),
    (
        Kind::Setting,
        "on_conflict = \"quarantine\"",
        "on_conflict = \"keep\"",
    ),
    (Kind::Code, "replay_over", Code::ReplayFinished.as_str()),
    (Kind::Code, "too_many_views", Code::TooManySavedSearches.as_str()),
    (Kind::Code, "view_not_found", Code::SavedSearchNotFound.as_str()),
    (Kind::Code, "work_unfinished", Code::DeliveriesUnfinished.as_str()),
];

/// The current name for a name from an earlier version.
pub fn renamed(kind: Kind, old: &str) -> Option<&'static str> {
    let (_, _, new) = RENAMED.iter().find(|(of, name, _)| *of == kind && *name == old)?;
    Some(new)
}

/// The clause to append to an error message: the new name, or nothing.
pub fn hint(kind: Kind, old: &str) -> String {
    renamed(kind, old).map_or_else(String::new, |new| format!("; `{old}` is now `{new}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_up_among_its_own_kind() {
        assert_eq!(renamed(Kind::Path, "copy"), Some("export"));
        assert_eq!(renamed(Kind::Code, "copy"), None);
        assert_eq!(hint(Kind::SearchKey, "copies"), "; `copies` is now `duplicates`");
        assert_eq!(hint(Kind::SearchKey, "status"), "");
    }

    #[test]
    fn no_new_name_is_an_old_one() {
        for (kind, old, new) in RENAMED {
            assert_eq!(
                renamed(*kind, new),
                None,
                "{old} is now {new}, which is an old name itself"
            );
        }
    }
}
