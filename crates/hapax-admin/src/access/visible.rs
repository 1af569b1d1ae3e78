//! The sources that a caller sees.

use std::collections::BTreeSet;
use std::sync::Arc;

use hapax_core::SourceName;
use hapax_core::store::EventQuery;

use crate::api_error::{ApiError, ApiResult};
use hapax_api::problem::Code;

/// The sources that a caller sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VisibleSources {
    /// All sources, and data that belongs to none.
    All,
    /// Only these.
    Only(Arc<BTreeSet<SourceName>>),
}

impl From<Option<BTreeSet<SourceName>>> for VisibleSources {
    fn from(sources: Option<BTreeSet<SourceName>>) -> Self {
        sources.map_or(Self::All, |sources| Self::Only(Arc::new(sources)))
    }
}

impl VisibleSources {
    /// Whether all sources are visible.
    pub const fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    /// Whether a source is visible.
    pub fn sees(&self, source: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(sources) => sources.iter().any(|one| one.as_str() == source),
        }
    }

    /// Their names, for error messages.
    pub fn words(&self) -> String {
        match self {
            Self::All => "every source".to_owned(),
            Self::Only(sources) => {
                let names: Vec<&str> = sources.iter().map(SourceName::as_str).collect();
                names.join(", ")
            }
        }
    }

    /// Narrows a search query. If the caller sees several sources, the results must also be filtered.
    pub fn narrow(&self, mut query: EventQuery) -> ApiResult<EventQuery> {
        match (self, &query.source) {
            (Self::Only(sources), Some(named)) if !sources.contains(named) => return Err(self.refuse(named)),
            (Self::Only(sources), None) if sources.len() == 1 => query.source = sources.first().cloned(),
            (Self::All | Self::Only(_), _) => {}
        }
        Ok(query)
    }

    /// Narrows a query that must name one source: for a job, which runs without the caller, or a search by event
    /// contents.
    pub fn narrow_to_one(&self, query: EventQuery) -> ApiResult<EventQuery> {
        let query = self.narrow(query)?;
        if self.is_all() || query.source.is_some() {
            return Ok(query);
        }
        Err(ApiError::new(
            Code::SourcesLimited,
            format!(
                "you can see only {}; add one of them to the query, such as source:NAME",
                self.words()
            ),
        ))
    }

    fn refuse(&self, named: &SourceName) -> ApiError {
        ApiError::new(
            Code::SourcesLimited,
            format!(
                "you can see only {}, and the query asks for `{named}`",
                self.words()
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(names: &[&str]) -> VisibleSources {
        VisibleSources::from(Some(names.iter().map(|name| SourceName::from(*name)).collect()))
    }

    #[test]
    fn a_query_is_narrowed_or_refused() {
        let of = |source: &str| EventQuery {
            source: Some(source.into()),
            ..EventQuery::default()
        };
        let (one, two) = (only(&["a"]), only(&["a", "b"]));
        assert_eq!(one.narrow(EventQuery::default()), Ok(of("a")));
        assert_eq!(two.narrow(EventQuery::default()), Ok(EventQuery::default()));
        assert_eq!(two.narrow_to_one(of("b")), Ok(of("b")));
        for refused in [
            one.narrow(of("b")),
            two.narrow(of("c")),
            two.narrow_to_one(EventQuery::default()),
        ] {
            assert_eq!(refused.unwrap_err().code(), Code::SourcesLimited);
        }
        assert_eq!(
            VisibleSources::All.narrow_to_one(EventQuery::default()),
            Ok(EventQuery::default())
        );
    }
}
