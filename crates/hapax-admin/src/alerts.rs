//! `GET alerts`, `POST alerts/test`: current alerts, and test messages to receivers.

use axum::Json;
use hapax_core::store::Actor;
use serde::Deserialize;
use utoipa::ToSchema;

use super::access::Caller;
use super::admission::Narrowed;
use super::api_error::{ApiError, ApiResult};
use super::extract::JsonBody;
use super::state::AdminState;
use hapax_alerts::{Alert, Tested};
use hapax_api::alert::About;
use hapax_api::problem::Code;
use hapax_api::views::{
    AlertReceiverView, AlertRuleView, AlertTestView, AlertTestedView, AlertView, AlertsView, UndeliveredView,
};
use hapax_delivery::outbox::full_name;

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = AlertTest)]
pub(super) struct Wanted {
    /// The name of the receiver to test [default: all].
    #[schema(max_length = 64)]
    receiver: Option<String>,
}

/// Lists current alerts, enabled rules and configured receivers.
#[utoipa::path(get, path = "/alerts", operation_id = "listAlerts", tag = "stats",
    responses((status = 200, description = "The alerts.", body = AlertsView)))]
pub(super) async fn list(Narrowed(state): Narrowed) -> ApiResult<Json<AlertsView>> {
    all(&state).await.map(Json)
}

/// Sends a test message to alert receivers.
#[utoipa::path(post, path = "/alerts/test", operation_id = "testAlerts", tag = "stats",
    request_body = Wanted,
    responses((status = 200, description = "The result for each receiver.", body = AlertTestView)),
    extensions(("x-problems" = json!([Code::MalformedBody, Code::BodyTooLarge, Code::UnknownReceiver])))
)]
pub(super) async fn test(
    Narrowed(state): Narrowed,
    caller: Caller,
    JsonBody(wanted): JsonBody<Wanted>,
) -> ApiResult<Json<AlertTestView>> {
    tested(&state, wanted.receiver.as_deref(), &caller.actor)
        .await
        .map(Json)
}

/// Current alerts, enabled rules and configured receivers.
pub(crate) async fn all(state: &AdminState) -> ApiResult<AlertsView> {
    let Some(alerts) = &state.alerts else {
        return Ok(AlertsView::default());
    };
    Ok(AlertsView {
        alerts: alerts
            .all()
            .await?
            .into_iter()
            .filter(|alert| is_visible(state, alert))
            .map(show)
            .collect(),
        rules: alerts
            .limits()
            .into_iter()
            .map(|(alert, limit)| AlertRuleView {
                alert,
                limit,
                unit: alert.unit(),
            })
            .collect(),
        receivers: alerts
            .receivers()
            .into_iter()
            .map(|(name, kind)| AlertReceiverView {
                name,
                kind: kind.to_owned(),
            })
            .collect(),
    })
}

/// Whether the caller may see the subject of an alert.
pub(super) fn is_visible(state: &AdminState, alert: &Alert) -> bool {
    let (settings, name) = (state.settings.load(), alert.subject.as_str());
    state.visible.is_all()
        || match alert.rule.about() {
            About::Source => state.visible.sees(name),
            About::Destination => settings.destination(name).is_ok(),
            About::Outbox => state.visible.sees(&full_name(name)),
            About::Store => false,
        }
}

async fn tested(state: &AdminState, receiver: Option<&str>, who: &Actor) -> ApiResult<AlertTestView> {
    let Some(alerts) = &state.alerts else {
        return Ok(AlertTestView::default());
    };
    let results = alerts.test(receiver).await;
    let results = results.map_err(|unknown| ApiError::new(Code::UnknownReceiver, unknown.to_string()))?;
    let entry = who.entry("alerts.test", receiver.unwrap_or("all receivers"), "");
    state.engine.record(entry).await?;
    Ok(AlertTestView {
        results: results.into_iter().map(result).collect(),
    })
}

fn show(alert: Alert) -> AlertView {
    AlertView {
        alert: alert.rule,
        about: alert.rule.about(),
        unit: alert.rule.unit(),
        guide: alert.rule.guide().to_owned(),
        subject: alert.subject,
        state: alert.state,
        since: alert.since,
        resolved_at: alert.resolved_at,
        value: alert.value,
        limit: alert.limit,
        sentence: alert.sentence,
        command: alert.command,
        undelivered: alert
            .overdue
            .into_iter()
            .map(|overdue| UndeliveredView {
                receiver: overdue.receiver,
                says: overdue.says,
                tries: overdue.tries,
                error: overdue.error,
            })
            .collect(),
    }
}

fn result(tested: Tested) -> AlertTestedView {
    AlertTestedView {
        receiver: tested.receiver,
        kind: tested.kind.to_owned(),
        delivered: tested.problem.is_none(),
        problem: tested.problem,
        took_ms: u64::try_from(tested.took.as_millis()).unwrap_or(u64::MAX),
    }
}
