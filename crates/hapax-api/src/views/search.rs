//! Queries: those that were given a name, and how the one that is being typed may go on.

use hapax_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Every saved search.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SavedSearchesView {
    /// In order of their names.
    pub searches: Vec<SavedSearchView>,
}

/// A query with a name.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SavedSearchView {
    /// Its name.
    pub name: String,
    /// The query as it was typed: `since:2h` stays that.
    pub query: String,
    /// Who saved it.
    pub by: String,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// A view that is gone.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DeletedSearchView {
    /// Its name.
    pub name: String,
}

/// Ways to end the last term of a query.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct CompletionView {
    /// The best first.
    pub suggestions: Vec<SuggestionView>,
    /// What is wrong with the query as it is, if anything.
    pub problem: Option<String>,
}

/// A text that may stand instead of the last term.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SuggestionView {
    /// The whole term.
    pub term: String,
    /// What it finds.
    pub help: String,
}
