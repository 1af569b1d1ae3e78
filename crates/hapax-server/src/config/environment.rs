//! The environment: the one place where it is read.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

/// The environment's variables, as they were when the process asked.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, OsString>,
}

/// Why a variable has no value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoVariable {
    NotSet,
    NotUtf8,
}

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Self {
        let named = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        Self {
            variables: named.collect(),
        }
    }

    /// An environment with these variables and no others.
    pub fn with<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), OsString::from(value));
        Self {
            variables: variables.into_iter().map(owned).collect(),
        }
    }

    /// The value of a variable.
    pub(super) fn get(&self, name: &str) -> Result<&str, NoVariable> {
        let value = self.variables.get(name).ok_or(NoVariable::NotSet)?;
        value.to_str().ok_or(NoVariable::NotUtf8)
    }

    /// The variables that begin with `prefix`, with what follows it.
    pub(super) fn beginning_with<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let names = self.variables.keys().map(String::as_str);
        names.filter_map(move |name| name.strip_prefix(prefix).map(|rest| (name, rest)))
    }
}

/// Names only: values may be secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.variables.keys()).finish()
    }
}
