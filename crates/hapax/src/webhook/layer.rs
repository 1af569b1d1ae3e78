//! The layer: verify, claim, run the route inside the transaction, commit.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum_core::body::Body;
use axum_core::extract::Request;
use axum_core::response::{IntoResponse, Response};
use http::request::Parts;
use sqlx::PgPool;
use tower_layer::Layer;
use tower_service::Service;

use super::axum::receive;
use super::handled::accepted;
use super::tx::{Slot, Work};
use super::{Source, Webhook};
use crate::answer::Answer;
use crate::inbox::{Inbox, Opened, Outcome, RunError, complete};
use crate::staged::Origin;

/// Applies each event of a route once: verifies the delivery, opens a transaction, claims the event, passes the
/// transaction to the handler as [`super::Tx`] and the event as an extension, and commits when the handler answers 2xx.
/// Any other response, or a panic, rolls everything back, and the provider retries.
///
/// | what happened | response |
/// |---|---|
/// | handled and committed | the handler's own |
/// | applied before | 200 `{"status":"duplicate",…}` |
/// | a different body under the same id | 200 `{"status":"conflict",…}` |
/// | being handled right now | 503 `in_flight` with `Retry-After` |
/// | the handler panicked, or its transaction broke | 500 `handler_failed` |
/// | the database is down, or the commit's result is unknown | 503 `store_unavailable` with `Retry-After` |
/// | not verified, not identified, too large | 401, 400, 413 |
///
/// The database work runs in a separate task, so a client that hangs up cannot interrupt it. Several events in one
/// request are handled one after another, each in its own transaction, until the first failure.
///
/// ```no_run
/// use axum::{Extension, Router, routing::post};
/// use hapax::Inbox;
/// use hapax::webhook::{InboxLayer, Source, Tx, Webhook};
/// use http::StatusCode;
///
/// async fn paid(mut tx: Tx, Extension(webhook): Extension<Webhook>) -> StatusCode {
///     let update = sqlx::query("update orders set status = 'paid' where id = $1")
///         .bind(webhook.event().event_id())
///         .execute(&mut *tx);
///     match update.await {
///         Ok(_) => StatusCode::OK,
///         Err(_) => StatusCode::INTERNAL_SERVER_ERROR, // rolled back; the provider retries
///     }
/// }
///
/// # fn example(pool: sqlx::PgPool) -> Result<Router, Box<dyn std::error::Error>> {
/// let layer = InboxLayer::new(Source::provider("stripe", &["whsec_test"])?, Inbox::new("billing")?, pool);
/// let app = Router::new().route("/webhooks/stripe", post(paid)).layer(layer);
/// # Ok(app)
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct InboxLayer {
    source: Source,
    inbox: Inbox,
    pool: PgPool,
}

impl InboxLayer {
    /// A layer for the deliveries of `source`, applied through `inbox` in the database of `pool`.
    pub const fn new(source: Source, inbox: Inbox, pool: PgPool) -> Self {
        Self { source, inbox, pool }
    }
}

impl<S> Layer<S> for InboxLayer {
    type Service = InboxService<S>;

    fn layer(&self, inner: S) -> InboxService<S> {
        InboxService {
            layer: self.clone(),
            inner,
        }
    }
}

/// A route behind [`InboxLayer`].
#[derive(Clone, Debug)]
pub struct InboxService<S> {
    layer: InboxLayer,
    inner: S,
}

impl<S> Service<Request> for InboxService<S>
where
    S: Service<Request, Response = Response, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // The route's readiness is checked once there is an event for it; a refused request does not need it.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.serve(request).await) })
    }
}

impl<S> InboxService<S>
where
    S: Service<Request, Response = Response, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
{
    async fn serve(self, request: Request) -> Response {
        let (head, body) = request.into_parts();
        let rule = Arc::clone(&self.layer.source.rule);
        match receive(&self.layer.source, &head, body).await {
            Err(refused) => refused.into_response(),
            Ok(events) => match tokio::spawn(self.all(head, events)).await {
                Ok(response) => accepted(response, &rule),
                // The handler panicked, and its transaction was dropped with it.
                Err(_) => Answer::handler_failed().into_response(),
            },
        }
    }

    async fn all(self, head: Parts, events: Vec<Webhook>) -> Response {
        let is_batch = events.iter().any(|event| event.batch_index.is_some());
        let mut ended = Vec::with_capacity(events.len());
        for event in events {
            let event_id = event.event().event_id().to_owned();
            let (outcome, response) = self.one(&head, event).await;
            match (is_batch, outcome) {
                (true, Some(outcome)) => ended.push((outcome, event_id)),
                (false, _) | (true, None) => return response,
            }
        }
        Answer::of_batch(&ended).into_response()
    }

    /// Handles one event; returns its outcome, unless it must be delivered again, and the response.
    async fn one(&self, head: &Parts, event: Webhook) -> (Option<Outcome<()>>, Response) {
        let opened = self
            .layer
            .inbox
            .open::<_, ()>(&self.layer.pool, event.event())
            .await;
        match opened.map_err(RunError::Database) {
            Ok(Opened::First(transaction)) => {
                let origin = Origin::new(self.layer.inbox.consumer(), event.event());
                let work = Work {
                    transaction,
                    origin,
                    staged: 0,
                };
                self.handle(head, event, Slot::new(work)).await
            }
            Ok(Opened::Ended(outcome)) => {
                let answer = Answer::of_outcome(&outcome, event.event().event_id());
                let is_over = (answer.status == 200).then_some(outcome);
                (is_over, answer.into_response())
            }
            Err::<_, RunError<Infallible>>(error) => (None, Answer::of_error(&error).into_response()),
        }
    }

    async fn handle(&self, head: &Parts, event: Webhook, slot: Slot) -> (Option<Outcome<()>>, Response) {
        let mut request = Request::from_parts(head.clone(), Body::from(event.body().clone()));
        request.extensions_mut().insert(event);
        request.extensions_mut().insert(slot.clone());
        let mut inner = self.inner.clone();
        let Ok(()) = poll_fn(|context| inner.poll_ready(context)).await;
        let Ok(response) = inner.call(request).await;
        if !response.status().is_success() {
            // Dropping the transaction rolls it back.
            return (None, response);
        }
        let Some(transaction) = slot.take() else {
            return (None, Answer::handler_failed().into_response());
        };
        match complete::<_, Infallible>(transaction).await {
            Ok(()) => (Some(Outcome::Processed(())), response),
            Err(error) => (None, Answer::of_error(&error).into_response()),
        }
    }
}
