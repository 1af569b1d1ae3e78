//! The extractors.

use axum_core::extract::{FromRef, FromRequest, Request};

use super::axum::receive;
use super::{Reason, Refused, Source, Webhook};

/// All events of a request, for providers that send several in one. Handle each separately, and answer 2xx only when
/// all of them are done: a redelivery contains all of them again.
#[derive(Clone, Debug)]
pub struct Webhooks(pub Vec<Webhook>);

impl<S> FromRequest<S> for Webhooks
where
    S: Send + Sync,
    Source: FromRef<S>,
{
    type Rejection = Refused;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refused> {
        let source = Source::from_ref(state);
        let (head, body) = request.into_parts();
        receive(&source, &head, body).await.map(Self)
    }
}

impl<S> FromRequest<S> for Webhook
where
    S: Send + Sync,
    Source: FromRef<S>,
{
    type Rejection = Refused;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refused> {
        let Webhooks(mut events) = Webhooks::from_request(request, state).await?;
        let not_one = |count| Source::from_ref(state).refused(Reason::NotOne(count));
        match (events.pop(), events.len()) {
            (Some(event), 0) => Ok(event),
            (None, _) => Err(not_one(0)),
            (Some(_), others) => Err(not_one(others + 1)),
        }
    }
}
