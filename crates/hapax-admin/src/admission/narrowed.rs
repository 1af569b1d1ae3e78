//! The service limited to the sources that a caller sees.
//!
//! Handlers and pages do not check this themselves: [`Narrowed`] gives them a state with only these sources in its
//! configuration. The few functions that read the store by something other than a source check `state.visible`.

use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::extract::FromRequestParts;
use http::request::Parts;

use crate::access::{Caller, VisibleSources};
use crate::api_error::ApiError;
use crate::state::{AdminState, DestinationSettings, Settings};
use hapax_delivery::outbox::is_outbox;

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

    use hapax_core::SourceName;

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
}
