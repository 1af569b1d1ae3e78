//! From a verified request to its response: identify, accept, wait.

use std::time::Duration;

use hapax_api::problem::Problem;
use hapax_config::Ack;
use hapax_core::{BodyHash, Timestamp};
use hapax_engine::{Accepted, Accepting, BodyFacts, IncomingEvent, Processed};
use hapax_telemetry::traces::Journey;
use hapax_verify::Verification;

use crate::budget::Share;
use crate::deadline::Deadline;
use crate::verify::{BodySays, Verified};
use crate::{
    HandledRequest, HttpResponse, Inner, Source, VerifiedRequest, answer, handshake, incoming, refused,
};

impl Inner {
    /// Processes a verified request: identify, accept, respond. The share is held until the response, because events
    /// that wait to be written count too.
    ///
    /// What only a few requests wait for is boxed, here and in `verify`: a request's future is moved several times, and
    /// is as large as the largest thing that it may wait for.
    pub(crate) async fn take(
        &self,
        source: &Source,
        request: VerifiedRequest,
        received_at: Timestamp,
        mut share: Share,
        journey: &mut Journey,
    ) -> Result<HandledRequest, Problem> {
        let VerifiedRequest {
            head,
            body,
            verified,
            deadline,
        } = request;
        if verified.is_proven() {
            share.prove().map_err(|_| refused::no_room())?;
        }
        let (verification, body_says) = match verified {
            Verified::Read(verification, body_says) => (verification, body_says),
            Verified::Known(recalled) => {
                drop(share);
                let headers = incoming::trace_headers(&head);
                let began = self.begin(journey);
                let accepted = self
                    .engine
                    .accept_recalled(recalled, &source.name, received_at, &headers)
                    .map_err(|refusal| refused::refusal(&refusal))?;
                let answer = answer::one(&accepted, source.ack_status);
                self.trace_accept(source, std::slice::from_ref(&accepted), began, journey);
                return self.handled(source, &[accepted], answer, deadline).await;
            }
        };
        let envelopes = match verification {
            Verification::Events(envelopes) => envelopes,
            Verification::Handshake(answer) => return Ok(handshake::response(answer).into()),
            Verification::Registration(registration) => {
                let registered = deadline
                    .keep(Box::pin(self.register(source, registration)))
                    .await?;
                return registered.map(HandledRequest::from);
            }
            Verification::Confirmation(confirmation) => {
                let confirmed = Box::pin(self.confirm(source, confirmation)).await;
                return confirmed.map(HandledRequest::from);
            }
            Verification::NeedsKey(request) => return Err(refused::key_unavailable(&request.key_id)),
        };
        if envelopes.is_empty() {
            return Ok(answer::dressed(answer::empty(), &source.answer).into());
        }
        if let Some(transmission) = envelopes
            .iter()
            .find_map(|envelope| envelope.transmission.as_ref())
        {
            deadline
                .keep(Box::pin(self.bind(source, transmission, &body)))
                .await??;
        }
        let (headers, body) = incoming::content(&source.verifier, &head, body);
        let is_batch = envelopes.iter().any(|envelope| envelope.batch_index.is_some());
        let facts = BodyFacts {
            fingerprints: match body_says {
                BodySays::All => source.fingerprints.as_ref(),
                BodySays::NotAll => None,
            },
            raw_hash: match envelopes.as_slice() {
                [only] => only.raw_hash.map(BodyHash::from_bytes),
                _ => None,
            },
        };
        let arrivals = self.arrivals(source, envelopes, received_at, headers, body);
        let began = self.begin(journey);
        let accepted = self.accept(arrivals, facts, share, deadline).await?;
        self.trace_accept(source, &accepted, began, journey);
        let answer = match accepted.as_slice() {
            [one] if !is_batch => answer::one(one, source.ack_status),
            several => answer::batch(several),
        };
        self.handled(source, &accepted, answer, deadline).await
    }

    /// The beginning of an accept, if it is recorded.
    fn begin(&self, journey: &Journey) -> Option<(Timestamp, Duration)> {
        journey
            .is_recorded()
            .then(|| (self.clock.now(), self.clock.elapsed()))
    }

    fn trace_accept(
        &self,
        source: &Source,
        accepted: &[Accepted],
        began: Option<(Timestamp, Duration)>,
        journey: &mut Journey,
    ) {
        if let Some((began_at, began)) = began {
            let took = self.clock.elapsed().saturating_sub(began);
            journey.accepted(&source.name, accepted, began_at, took);
        }
    }

    /// A request with durable events. If the source says so, it waits for their deliveries.
    async fn handled(
        &self,
        source: &Source,
        accepted: &[Accepted],
        answer: HttpResponse,
        deadline: Deadline,
    ) -> Result<HandledRequest, Problem> {
        if let Ack::Processed { limit } = source.ack {
            Box::pin(self.until_processed(accepted, limit, deadline)).await?;
        }
        Ok(HandledRequest {
            answer: answer::dressed(answer, &source.answer),
            event: accepted.first().map(Accepted::id),
        })
    }

    /// Accepts events. If the store does not answer in time, the provider gets 503 and retries. Events that the store
    /// has written by then are recognised.
    async fn accept(
        &self,
        arrivals: Vec<IncomingEvent>,
        facts: BodyFacts<'_>,
        share: Share,
        deadline: Deadline,
    ) -> Result<Vec<Accepted>, Problem> {
        let begun = self.engine.begin_accept(arrivals, facts);
        let mut answer = match begun.map_err(|refusal| refused::refusal(&refusal))? {
            Accepting::Answered(accepted) => return Ok(accepted),
            Accepting::Waiting(answer) => answer,
        };
        match deadline.keep(&mut answer).await {
            Ok(answer) => answer.map_err(|refusal| refused::refusal(&refusal)),
            Err(problem) => {
                // The events still wait to be written, and their bytes count until they are.
                tokio::spawn(async move {
                    let _ = answer.await;
                    drop(share);
                });
                Err(problem)
            }
        }
    }

    /// Waits for the deliveries. All events are already durable, so nothing is lost, whatever the response.
    async fn until_processed(
        &self,
        accepted: &[Accepted],
        limit: Duration,
        deadline: Deadline,
    ) -> Result<(), Problem> {
        match deadline.keep(self.engine.processed(accepted, limit)).await {
            Ok(Ok(Processed::Done)) => Ok(()),
            Ok(Ok(Processed::Failed)) => Err(refused::handler_failed()),
            Ok(Ok(Processed::InFlight)) | Err(_) => Err(refused::in_flight()),
            Ok(Err(_)) => Err(refused::store_unavailable()),
        }
    }
}
