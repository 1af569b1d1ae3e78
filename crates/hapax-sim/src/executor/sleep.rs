//! A sleep in virtual time.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::Executor;

/// Completes when virtual time has passed. Dropping it early removes its timer: time must not jump to a moment that
/// nothing waits for.
pub struct Sleep {
    executor: Executor,
    until: Duration,
    timer: Option<(Duration, u64)>,
}

impl Sleep {
    pub(super) fn new(executor: Executor, duration: Duration) -> Self {
        let until = executor.now().saturating_add(duration);
        Self {
            executor,
            until,
            timer: None,
        }
    }

    fn cancel(&mut self) {
        if let Some(timer) = self.timer.take() {
            let waker = self.executor.lock().timers.remove(&timer);
            drop(waker);
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.cancel();
        let mut state = self.executor.lock();
        if state.now >= self.until {
            return Poll::Ready(());
        }
        let timer = (self.until, state.next_number());
        state.timers.insert(timer, context.waker().clone());
        drop(state);
        self.timer = Some(timer);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.cancel();
    }
}
