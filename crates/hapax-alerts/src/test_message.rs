//! `hapax alerts test`: sends a message to receivers to see that it arrives.

use std::time::Duration;

use super::Alerts;
use super::message::{Message, Said};
use super::row::Tried;
use hapax_api::alert::Rule;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tested {
    pub receiver: String,
    /// `slack`, `webhook` or `command`.
    pub kind: &'static str,
    /// Why it did not arrive.
    pub problem: Option<String>,
    pub took: Duration,
}

#[derive(Debug, thiserror::Error)]
#[error("there is no [alerts.receivers.{name}]; {known}")]
pub struct UnknownReceiver {
    name: String,
    known: String,
}

impl Alerts {
    /// Sends a test message to one receiver, or to all of them concurrently.
    pub async fn test(&self, receiver: Option<&str>) -> Result<Vec<Tested>, UnknownReceiver> {
        let plan = self.plan.load_full();
        if let Some(name) = receiver.filter(|name| !plan.receivers.contains_key(*name)) {
            let names: Vec<&str> = plan.receivers.keys().map(String::as_str).collect();
            return Err(UnknownReceiver {
                name: name.to_owned(),
                known: if names.is_empty() {
                    "none is configured".to_owned()
                } else {
                    format!("configured: {}", names.join(", "))
                },
            });
        }
        let chosen = plan
            .receivers
            .iter()
            .filter(|(name, _)| receiver.is_none_or(|wanted| wanted == name.as_str()));
        let message = self.test_message();
        let tests = chosen.map(|(name, one)| async {
            let asked = self.gatherer.clock.elapsed();
            let tried = one.tell(&message).await;
            Tested {
                receiver: name.clone(),
                kind: one.kind(),
                problem: match tried {
                    Tried::Delivered => None,
                    Tried::Refused(why) | Tried::Unclear(why) => Some(why),
                },
                took: self.gatherer.clock.elapsed().saturating_sub(asked),
            }
        });
        Ok(futures_util::future::join_all(tests).await)
    }

    fn test_message(&self) -> Message {
        let now = self.gatherer.clock.now();
        Message {
            rule: Rule::DeadLetters,
            subject: "test".to_owned(),
            said: Said::Test,
            since: now,
            at: now,
            value: 0.0,
            limit: 0.0,
        }
    }
}
