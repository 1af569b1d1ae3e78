//! `GET events/{id}/copy`: an event as something to run.

use axum::response::{IntoResponse as _, Response};
use hapax_core::{Clock as _, SystemClock};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::Deserialize;
use utoipa::IntoParams;

use super::access::{Caller, Narrowed};
use super::copy::{self, CopyAs};
use super::events;
use super::extract::{Asked, Named, event_id};
use super::fault::Answer;
use crate::config::Role;

/// What to make of it.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct CopyParameters {
    /// What to make of it: a shell script that delivers it again, signed now, or a test in a language.
    #[serde(rename = "as")]
    #[param(inline)]
    copy_as: CopyAs,
}

/// Makes a request of an event that is signed again, or a test that delivers it twice.
///
/// The body is exact to the byte, but for the fields that its source redacts. The re-signed request holds a signature,
/// so that it takes the role `operate`. No secret of a source is ever in it.
#[utoipa::path(get, path = "/events/{id}/copy", operation_id = "copyEvent", tag = "events",
    params(("id" = String, Path, description = "The id that Hapax gave the event.", format = "uuid"), CopyParameters),
    responses((status = 200, description = "The text of it.", content_type = "text/plain", body = String)),
    extensions(("x-problems" = json!(["invalid_parameter", "event_not_found", "role_too_low"])))
)]
pub(super) async fn copy(
    Narrowed(state): Narrowed,
    caller: Caller,
    Named(id): Named<String>,
    Asked(asked): Asked<CopyParameters>,
) -> Answer<Response> {
    if asked.copy_as == CopyAs::Curl {
        caller.check_role(Role::Operate)?;
    }
    let record = events::visible(&state, caller.role, event_id(&id)?).await?;
    let text = copy::text(&state, &record, asked.copy_as, SystemClock::default().now())?;
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
        (
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{}\"", asked.copy_as.file_name()),
        ),
    ];
    Ok((headers, text).into_response())
}
