//! Runs futures concurrently on one connection, started in order, so that the server receives everything at once and
//! still executes one statement after the other.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use futures_util::future::{MaybeDone, maybe_done};

/// The results, in order. The futures are always polled in order, so each sends before the next one does.
pub(super) async fn join<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut futures: Vec<Pin<Box<MaybeDone<F>>>> =
        futures.into_iter().map(|one| Box::pin(maybe_done(one))).collect();
    std::future::poll_fn(|context| {
        let mut pending = false;
        for future in &mut futures {
            pending |= future.as_mut().poll(context).is_pending();
        }
        if pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    futures
        .iter_mut()
        .filter_map(|future| future.as_mut().take_output())
        .collect()
}
