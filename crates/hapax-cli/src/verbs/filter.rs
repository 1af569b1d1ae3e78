//! The filters that `events` and `replay` share: flags, a text in the query language, a saved search.
//!
//! All of them become one text, so that the service reads what the dashboard's search box would hold.

use hapax_core::store::EventQuery;
use hapax_core::{Clock as _, EventStatus, SystemClock};

use crate::client::{Client, Error};
use crate::exit::CliError;
use hapax_api::query;
use hapax_api::views::SavedSearchesView;
use hapax_api::when::When;

/// Which events.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct EventFilter {
    /// Only what this query finds, such as `status:dead duplicates:>1 body:/data/id=7` (docs/reference/query.md)
    #[arg(short, long, value_name = "QUERY")]
    pub query: Option<String>,

    /// Only what this saved search finds
    #[arg(long, value_name = "NAME")]
    pub saved_search: Option<String>,

    /// Only of this source
    #[arg(long, value_name = "SOURCE")]
    pub source: Option<String>,

    /// Only with this status: pending, failed, dead, completed, ignored or quarantined
    #[arg(long, value_name = "STATUS")]
    pub status: Option<EventStatus>,

    /// Only of this type; a `*` at the end stands for any ending
    #[arg(long = "type", value_name = "TYPE")]
    pub event_type: Option<String>,

    /// Only with this event id of the provider
    #[arg(long, value_name = "ID")]
    pub event_id: Option<String>,

    /// Only received at or after this time: RFC 3339, or how long ago (`2h`)
    #[arg(long, value_name = "TIME")]
    pub since: Option<When>,

    /// Only received before this time: RFC 3339, or how long ago (`30m`)
    #[arg(long, value_name = "TIME")]
    pub until: Option<When>,
}

impl EventFilter {
    /// All of it as one text in the query language.
    ///
    /// # Errors
    /// When there is no such saved search, or the service does not answer.
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

/// Flags, a saved search and a query as one text.
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
    let saved: SavedSearchesView = client.get("searches").await.map_err(Error::into_cli)?;
    let found = saved.searches.into_iter().find(|search| search.name == name);
    found.map(|search| search.query).ok_or_else(|| {
        CliError::not_found(format!(
            "there is no saved search `{name}`; run `hapax searches list` to see them all"
        ))
    })
}
