//! Saved searches and query completion.

use hapax_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Every saved search.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SavedSearchesView {
    /// The saved searches, ordered by name.
    pub searches: Vec<SavedSearchView>,
}

/// A query saved under a name.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SavedSearchView {
    /// The name of the saved search.
    pub name: String,
    /// The query as typed: `since:2h` stays relative.
    pub query: String,
    /// Who saved it.
    pub by: String,
    /// When it was saved.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// A deleted saved search.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DeletedSearchView {
    /// The name of the saved search.
    pub name: String,
}

/// Suggestions for the last term of a query.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct CompletionView {
    /// The suggestions, best first.
    pub suggestions: Vec<SuggestionView>,
    /// What is wrong with the query as typed, if anything.
    pub problem: Option<String>,
}

/// A suggested replacement for the last term.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SuggestionView {
    /// The complete term.
    pub term: String,
    /// The events it matches.
    pub help: String,
}
