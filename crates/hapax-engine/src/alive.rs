//! Liveness: once a second this process reports to each shard of the store that it is alive, and reclaims deliveries
//! there that dead processes had leased. If it cannot report for ten seconds, other processes are about to take over:
//! it releases the leases it holds there and continues under a new owner name, so that leases it does not know about
//! belong to no one.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use hapax_core::Owner;
use hapax_core::store::AliveReport;

use crate::dispatch::RESCUE_MAX;
use crate::engine::Inner;
use crate::observe::Observation;

/// A report that takes longer counts as failed.
const REPORT_MAX: Duration = Duration::from_secs(3);

impl Inner {
    pub(crate) async fn alive_loop(self: Arc<Self>) {
        while !self.rest(self.limits.report_every).await {
            self.report_alive().await;
        }
    }

    /// Reports every name to every shard, each separately, so a silent shard holds up no other.
    pub(crate) async fn report_alive(self: &Arc<Self>) {
        let reports = self.owners.reports();
        join_all(
            reports
                .into_iter()
                .map(|(owner, shard)| self.report_to(owner, shard)),
        )
        .await;
    }

    async fn report_to(self: &Arc<Self>, owner: Owner, shard: usize) {
        let asked = self.elapsed();
        let report = AliveReport {
            owner,
            shard,
            patience: self.limits.patience,
            limit: RESCUE_MAX,
        };
        let answer = tokio::select! {
            biased;
            answer = self.parts.store.report_alive(report) => answer,
            () = self.parts.runtime.sleep(REPORT_MAX) => return,
        };
        match answer {
            Ok(rescued) => {
                let was_unknown = self.owners.current(asked).is_none();
                self.owners.reported(owner, shard, asked);
                if was_unknown {
                    self.dispatch.notify_one();
                }
                self.took_back(rescued);
            }
            Err(error) => self.observe(&Observation::StoreFailed {
                during: "reporting that this process is alive",
                error: &error,
            }),
        }
    }

    /// Checks by this process's own clock, independently of the reports, so a process that was suspended notices when
    /// it wakes up.
    pub(crate) async fn silence_loop(self: Arc<Self>) {
        while !self.rest(self.limits.report_every / 2).await {
            let now = self.elapsed();
            for (owner, shard) in self.owners.give_up(&*self.parts.random, now) {
                let attempts = self
                    .held_leases
                    .release(|event, of| of == owner && self.parts.store.shard_of(event) == shard);
                self.observe(&Observation::Unreported { attempts });
            }
            self.owners.forget(now, |owner| self.held_leases.any_of(owner));
        }
    }
}
