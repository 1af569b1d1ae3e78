//! `outage`: a dependency of the handler is unavailable during the first attempt, and available for the next. A failing
//! handler is far more common than a crash, and loses events in the same way.

use super::{Note, Runner, Stop, Subject};
use crate::snapshot::run_detached;

impl Runner {
    pub(super) async fn outage(&mut self, subject: &Subject, command: &str) -> Result<Note, Stop> {
        let delivery = self.fresh(&subject.event)?;
        run_detached(&format!("{command} down")).await?;
        let answer = self.deliver(&delivery).await;
        run_detached(&format!("{command} up")).await?;
        self.until_accepted(&delivery).await?;
        let when = format!("the first attempt, during the outage, got {answer}; then the provider retried");
        self.conclude(subject, &delivery, &when).await?;
        let unharmed =
            "the first attempt succeeded anyway: does the command really break a dependency of the handler?";
        Ok(answer.is_success().then(|| unharmed.to_owned()))
    }
}
