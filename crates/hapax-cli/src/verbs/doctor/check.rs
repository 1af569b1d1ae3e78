//! One line of the doctor: the subject, the outcome, and the fix.

use std::fmt;

use owo_colors::OwoColorize as _;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Ok,
    /// It works, but needs attention.
    Warn,
    /// It does not work.
    Fail,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Check {
    pub(super) name: String,
    pub(super) outcome: Outcome,
    pub(super) detail: String,
    pub(super) fix: Option<String>,
}

impl Check {
    pub(super) fn ok(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            outcome: Outcome::Ok,
            detail: detail.into(),
            fix: None,
        }
    }

    pub(super) fn warn(name: impl Into<String>, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            outcome: Outcome::Warn,
            detail: detail.into(),
            fix: Some(fix.into()),
        }
    }

    pub(super) fn fail(name: impl Into<String>, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            outcome: Outcome::Fail,
            detail: detail.into(),
            fix: Some(fix.into()),
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.outcome {
            Outcome::Ok => write!(f, "{}", "ok  ".green())?,
            Outcome::Warn => write!(f, "{}", "warn".yellow())?,
            Outcome::Fail => write!(f, "{}", "FAIL".red().bold())?,
        }
        write!(f, "  {}: {}", self.name, self.detail)?;
        match &self.fix {
            Some(fix) => write!(f, "\n      fix: {fix}"),
            None => Ok(()),
        }
    }
}
