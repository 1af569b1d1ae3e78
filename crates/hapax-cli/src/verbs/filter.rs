//! The filters that `events` and `replay` share: flags, a query, a saved search.
//!
//! All of them become one query string, the same as in the dashboard's search box.

use hapax_core::store::EventQuery;
use hapax_core::{Clock as _, EventStatus, SystemClock};

use crate::exit::CliError;
use hapax_api::query;
use hapax_api::views::SavedSearchesView;
use hapax_api::when::When;
use hapax_client::Client;

#[derive(Clone, Debug, Default, clap::Args)]
pub struct EventFilter {
    /// Only events that match this query, such as `status:dead duplicates:>1 body:/data/id=7` (docs/reference/query.md)
    #[arg(short, long, value_name = "QUERY")]
    pub query: Option<String>,

    /// Only events that match this saved search
    #[arg(long, value_name = "NAME")]
    pub saved_search: Option<String>,

    /// Only events of this source
    #[arg(long, value_name = "SOURCE")]
    pub source: Option<String>,

    /// Only events with this status: pending, failed, dead, completed, ignored or quarantined
    #[arg(long, value_name = "STATUS")]
    pub status: Option<EventStatus>,

    /// Only events of this type; a trailing `*` matches any ending
    #[arg(long = "type", value_name = "TYPE")]
    pub event_type: Option<String>,

    /// Only events with this event id of the provider
    #[arg(long, value_name = "ID")]
    pub event_id: Option<String>,

    /// Only events received at or after this time: RFC 3339, or how long ago (`2h`)
    #[arg(long, value_name = "TIME")]
    pub since: Option<When>,

    /// Only events received before this time: RFC 3339, or how long ago (`30m`)
    #[arg(long, value_name = "TIME")]
    pub until: Option<When>,
}

impl EventFilter {
    /// All filters as one string in the query language.
    ///
    /// # Errors
    /// If the saved search does not exist, or the service does not answer.
    pub async fn text(&self, client: &Client) -> Result<String, CliError> {
        let now = SystemClock::default().now();
        let flags = EventQuery {
            source: self.source.as_deref().map(Into::into),
            status: self.status,
            event_type: self.event_type.clone(),
            event_id: self.event_id.clone(),
            since: self.since.map(|when| when.resolve(now)),
            until: self.until.map(|when| when.resolve(now)),
            ..EventQuery::default()
        };
        whole(
            client,
            &flags,
            self.saved_search.as_deref(),
            self.query.as_deref(),
        )
        .await
    }
}

/// Joins flags, a saved search and a query into one string.
pub(super) async fn whole(
    client: &Client,
    flags: &EventQuery,
    saved_search: Option<&str>,
    query: Option<&str>,
) -> Result<String, CliError> {
    let mut parts = vec![query::print(flags)];
    if let Some(name) = saved_search {
        parts.push(query_of(client, name).await?);
    }
    parts.extend(query.map(str::to_owned));
    parts.retain(|part| !part.trim().is_empty());
    Ok(parts.join(" "))
}

async fn query_of(client: &Client, name: &str) -> Result<String, CliError> {
    let saved: SavedSearchesView = client.get("searches").await?;
    let found = saved.searches.into_iter().find(|search| search.name == name);
    found.map(|search| search.query).ok_or_else(|| {
        CliError::not_found(format!(
            "there is no saved search `{name}`; run `hapax searches list` to see them all"
        ))
    })
}
