//! `GET events/{id}/export`: an event as a runnable program.

use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::Deserialize;
use utoipa::IntoParams;

use super::access::Caller;
use super::admission::Narrowed;
use super::api_error::ApiResult;
use super::events;
use super::export::{self, ExportFormat};
use super::extract::{PathParams, QueryParams, event_id};
use hapax_api::problem::Code;
use hapax_config::Role;

/// The format of the export.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ExportParams {
    /// The format: a shell script that redelivers the event, signed now, or a test in a language.
    #[serde(rename = "as")]
    #[param(inline)]
    format: ExportFormat,
}

/// Exports an event as a re-signed request, or as a test that delivers it twice.
///
/// The body is exact to the byte, except for redacted fields. The re-signed request contains a signature, so it
/// requires the role `operate`. No export contains a source's secret.
#[utoipa::path(get, path = "/events/{id}/export", operation_id = "exportEvent", tag = "events",
    params(("id" = String, Path, description = "The Hapax id of the event.", format = "uuid"), ExportParams),
    responses((status = 200, description = "The exported program.", content_type = "text/plain", body = String)),
    extensions(("x-problems" = json!([Code::InvalidParameter, Code::EventNotFound, Code::RoleTooLow])))
)]
pub(crate) async fn export(
    Narrowed(state): Narrowed,
    caller: Caller,
    PathParams(id): PathParams<String>,
    QueryParams(asked): QueryParams<ExportParams>,
) -> ApiResult<Response> {
    if asked.format == ExportFormat::Curl {
        caller.check_role(Role::Operate)?;
    }
    let record = events::visible(&state, caller.role, event_id(&id)?).await?;
    let text = export::text(&state, &record, asked.format, state.now())?;
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{}\"", asked.format.file_name()),
        ),
    ];
    Ok((headers, text).into_response())
}
