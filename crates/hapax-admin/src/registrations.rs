//! `POST sources/{name}/registration`: accepts a signing secret from a provider for a limited time.

use std::time::Duration;

use axum::Json;
use hapax_core::SourceName;
use hapax_core::store::Actor;
use hapax_verify::{Handshake, catalogue};
use serde::Deserialize;
use utoipa::ToSchema;

use super::access::Caller;
use super::admission::Narrowed;
use super::api_error::{ApiError, ApiResult};
use super::extract::{JsonBody, PathParams};
use super::state::AdminState;
use hapax_api::problem::Code;
use hapax_api::views::{RegistrationView, SourceView};

/// Default duration of a registration.
const SECONDS_DEFAULT: u64 = 600;
/// Maximum duration of a registration: during it, anyone who knows the URL could register first.
const SECONDS_MAX: u64 = 24 * 3600;

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = RegistrationWanted)]
pub(super) struct Wanted {
    /// How long the registration stays open, in seconds [default: 600].
    #[schema(minimum = 1, maximum = 86400)]
    for_seconds: Option<u64>,
}

/// Opens a registration, so that the provider can send its signing secret.
///
/// Only for providers that send their secret (Asana).
#[utoipa::path(post, path = "/sources/{name}/registration", operation_id = "openRegistration", tag = "sources",
    params(("name" = String, Path, description = "The source's name.", min_length = 1)),
    request_body = Wanted,
    responses((status = 200, description = "The registration is open.", body = RegistrationView)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::MalformedBody, Code::BodyTooLarge, Code::UnknownSource, Code::NoRegistration])))
)]
pub(super) async fn open(
    Narrowed(state): Narrowed,
    caller: Caller,
    PathParams(name): PathParams<String>,
    JsonBody(wanted): JsonBody<Wanted>,
) -> ApiResult<Json<RegistrationView>> {
    opened(&state, name, wanted.for_seconds, &caller.actor)
        .await
        .map(Json)
}

/// Opens a registration for a source.
pub async fn opened(
    state: &AdminState,
    name: String,
    for_seconds: Option<u64>,
    who: &Actor,
) -> ApiResult<RegistrationView> {
    check(state.settings.load().source(&name)?)?;
    let seconds = for_seconds.unwrap_or(SECONDS_DEFAULT);
    if !(1..=SECONDS_MAX).contains(&seconds) {
        return Err(ApiError::invalid_parameter(format!(
            "`for_seconds` is {seconds}; a registration can be open for 1 s to {SECONDS_MAX} s"
        )));
    }
    let open_until = state.now().plus(Duration::from_secs(seconds));
    let (store, source) = (state.engine.store(), SourceName::from(name.as_str()));
    hapax_engine::registration::open(&**store, &source, open_until).await?;
    let entry = who.entry("register", name.clone(), format!("until {open_until}"));
    state.engine.record(entry).await?;
    Ok(RegistrationView {
        source: name,
        open_until,
    })
}

/// Refuses sources of providers that do not send a secret.
fn check(source: &SourceView) -> ApiResult<()> {
    let provider = source.provider.as_deref().and_then(catalogue::get);
    if provider.is_some_and(|provider| provider.handshakes.contains(&Handshake::AsanaSecret)) {
        return Ok(());
    }
    Err(ApiError::new(
        Code::NoRegistration,
        format!(
            "the provider of `{}` does not send a secret; its secrets come from the configuration",
            source.name
        ),
    ))
}
