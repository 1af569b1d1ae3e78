//! The sources that a caller sees, and the service limited to them.
//!
//! Handlers and pages do not check this themselves: [`Narrowed`] gives them a state with only these sources in its
//! configuration. The few functions that read the store by something other than a source check `state.visible`.

use std::collections::BTreeSet;
use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::extract::FromRequestParts;
use hapax_core::SourceName;
use hapax_core::store::EventQuery;
use http::request::Parts;

use super::Caller;
use crate::api_error::{ApiError, ApiResult};
use crate::state::{AdminState, DestinationSettings, Settings};
use hapax_api::problem::Code;
use hapax_delivery::outbox::is_outbox;

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

/// The service as the caller sees it.
pub struct Narrowed(pub AdminState);

impl FromRequestParts<AdminState> for Narrowed {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AdminState) -> Result<Self, ApiError> {
        let caller = parts.extensions.get::<Caller>();
        // A caller that was not admitted sees nothing.
        let visible = caller.map_or_else(
            || VisibleSources::Only(Arc::default()),
            |caller| caller.visible.clone(),
        );
        Ok(Self(state.narrowed(visible)))
    }
}

impl AdminState {
    fn narrowed(&self, visible: VisibleSources) -> Self {
        let mut state = self.clone();
        if !visible.is_all() {
            let settings = self.settings.load().narrowed(&visible);
            state.settings = Arc::new(ArcSwap::from_pointee(settings));
        }
        state.visible = visible;
        state
    }
}

impl Settings {
    /// The configuration of these sources. It includes a destination only if no other source delivers to it, because
    /// the figures of a destination are not kept by source.
    fn narrowed(&self, visible: &VisibleSources) -> Self {
        let mut settings = self.clone();
        settings.sources.retain(|source| visible.sees(&source.name));
        settings.facts.retain(|name, _| visible.sees(name));
        settings
            .destinations
            .retain(|destination| self.is_theirs_alone(destination, visible));
        let is_destination = |name: &str| settings.destinations.iter().any(|one| one.name == name);
        settings
            .written
            .retain(|section, _| match section.split_once('.') {
                Some(("sources", name)) => visible.sees(name),
                Some(("outbox", _)) => visible.sees(section),
                Some(("destinations", name)) => is_destination(name),
                Some(_) | None => false,
            });
        settings
    }

    fn is_theirs_alone(&self, destination: &DestinationSettings, visible: &VisibleSources) -> bool {
        let named = |source: &&hapax_api::views::SourceView| source.deliver_to.contains(&destination.name);
        let is_used = self
            .sources
            .iter()
            .any(|source| named(&source) || source.name == destination.name);
        // A row of an outbox may name any destination.
        let mut others = self
            .sources
            .iter()
            .filter(|source| named(source) || is_outbox(&source.name.as_str().into()));
        is_used && others.all(|source| visible.sees(&source.name))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use hapax_config::{self as config, Environment};

    fn only(names: &[&str]) -> VisibleSources {
        VisibleSources::from(Some(names.iter().map(|name| SourceName::from(*name)).collect()))
    }

    fn settings() -> Settings {
        let text = "[sources.a]\nprovider = \"stripe\"\nsecrets = [\"whsec_test_secret\"]\ndeliver_to = [\"mine\", \"both\"]\n\
                    [sources.b]\nprovider = \"stripe\"\nsecrets = [\"whsec_test_secret\"]\ndeliver_to = [\"both\"]\n\
                    [destinations.mine]\nkind = \"http\"\nurl = \"http://127.0.0.1:9/\"\n\
                    [destinations.both]\nkind = \"http\"\nurl = \"http://127.0.0.1:9/\"\n\
                    [destinations.nobodys]\nkind = \"http\"\nurl = \"http://127.0.0.1:9/\"\n";
        let config = config::parse(text, Path::new("hapax.toml"), &Environment::with([]), &[]);
        Settings::from(&config.unwrap())
    }

    #[test]
    fn settings_hold_the_sources_and_the_destinations_that_are_theirs_alone() {
        let names = |visible: &VisibleSources| {
            let settings = settings().narrowed(visible);
            let sections: Vec<String> = settings.written.into_keys().collect();
            let sources: Vec<String> = settings.sources.into_iter().map(|one| one.name).collect();
            let destinations: Vec<String> = settings.destinations.into_iter().map(|one| one.name).collect();
            (sources.join(" "), destinations.join(" "), sections.join(" "))
        };
        let all = names(&only(&["a"]));
        assert_eq!((all.0.as_str(), all.1.as_str()), ("a", "mine"));
        assert_eq!(all.2, "destinations.mine sources.a");
        assert_eq!(names(&only(&["b"])).1, "");
        assert_eq!(names(&only(&["a", "b"])).1, "both mine");
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
