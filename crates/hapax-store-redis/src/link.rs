//! Calls to shards: which server has one, connections to it, and what to do when it has moved, died or is silent.
//!
//! The router is our own, on connections of the `redis` crate. A general one hides what matters here: `WAIT` must go
//! down the connection that wrote, a call that may have run must not be sent twice, and whoever remembers what the store
//! said must hear that a connection was re-made.

mod connections;
mod routes;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::Value;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep};

use crate::failure::{Cause, Failure, Next};
use crate::script::{Repeat, Script};
use crate::shards::{Shard, Shards};
use crate::url::{Node, Place};
use crate::{Options, reply};
use connections::{Connections, Use};
use routes::Routes;

/// Between two tries of a call that has not begun.
const PAUSE: Duration = Duration::from_millis(20);
/// A further try gets this part of a call's time, or is not begun: one that is cut off may have run, and what it leased
/// would be nobody's until the lease ends.
const TRIES: u32 = 10;

/// The way to every shard.
pub(crate) struct Link {
    shards: Shards,
    connections: Connections,
    /// Known to every link of the store: what one has learnt, another need not ask for.
    routes: Arc<Routes>,
    calls: Semaphore,
    /// The greatest number that any shard has told us, on any link of the store.
    floor: Arc<AtomicU64>,
    call_timeout: Duration,
    wait_timeout: Duration,
}

/// The answer of a script, and how many replicas have what it wrote.
pub(crate) struct Waited {
    pub(crate) value: Value,
    pub(crate) replicas: u8,
}

impl Link {
    pub(crate) fn new(place: &Place, shards: Shards, options: &Options) -> Self {
        Self {
            routes: Arc::new(Routes::new(place)),
            connections: Connections::new(place, options),
            shards,
            calls: Semaphore::new(options.calls_max),
            floor: Arc::default(),
            call_timeout: options.call_timeout,
            wait_timeout: options.wait_timeout,
        }
    }

    /// A further way to the same shards, with connections and a bound of its own: nothing here waits for what is called
    /// there.
    pub(crate) fn beside(&self, place: &Place, options: &Options) -> Self {
        Self {
            floor: Arc::clone(&self.floor),
            routes: Arc::clone(&self.routes),
            ..Self::new(place, self.shards.clone(), options)
        }
    }

    pub(crate) const fn shards(&self) -> &Shards {
        &self.shards
    }

    /// Changes with every connection that was re-made.
    pub(crate) fn epoch(&self) -> u64 {
        self.connections.epoch() + self.routes.epoch()
    }

    /// Room for one more step; a step makes as many calls as it needs.
    pub(crate) fn admit(&self) -> Result<SemaphorePermit<'_>, Failure> {
        self.calls.try_acquire().map_err(|_| Failure::TooMany)
    }

    /// When a call that begins now is over.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.call_timeout
    }

    /// A number that the next one is greater than, as scripts take it.
    pub(crate) fn floor(&self) -> Vec<u8> {
        self.floor.load(Ordering::Relaxed).to_string().into_bytes()
    }

    /// Remembers a number that a shard has given out.
    pub(crate) fn seen(&self, number: u64) {
        self.floor.fetch_max(number, Ordering::Relaxed);
    }

    /// Runs a script on a shard.
    pub(crate) async fn call(
        &self,
        shard: Shard,
        script: &Script,
        args: &[Vec<u8>],
    ) -> Result<Value, Failure> {
        Ok(self
            .call_and_wait(shard, script, args, 0, self.deadline())
            .await?
            .value)
    }

    /// Runs a script on a shard, and then waits until so many replicas have all that its master had by then, or until
    /// it has waited long enough.
    pub(crate) async fn call_and_wait(
        &self,
        shard: Shard,
        script: &Script,
        args: &[Vec<u8>],
        replicas: u8,
        deadline: Instant,
    ) -> Result<Waited, Failure> {
        let mut command = script.by_hash(&self.shards, shard, args);
        fail::fail_point!("redis.before_script");
        loop {
            let failure = match self.once(shard, &command, replicas, deadline).await {
                Ok(value) => {
                    fail::fail_point!("redis.after_script");
                    return Ok(value);
                }
                Err(failure) => failure,
            };
            if Instant::now() + self.call_timeout / TRIES >= deadline {
                return Err(failure);
            }
            match (&failure, failure.next(), script.repeat()) {
                (_, Next::WithText, _) => command = script.by_text(&self.shards, shard, args),
                (_, Next::To(node), _) => self.routes.moved(self.shards.slot(shard), node),
                (_, Next::Later, _) | (Failure::Unknown(_), _, Repeat::Safe) => {
                    self.routes.doubt();
                    sleep(PAUSE).await;
                }
                (_, Next::Never, _) => return Err(failure),
            }
        }
    }

    /// One try.
    async fn once(
        &self,
        shard: Shard,
        command: &redis::Cmd,
        replicas: u8,
        deadline: Instant,
    ) -> Result<Waited, Failure> {
        let node = self.node_of(shard, deadline).await?;
        if replicas == 0 {
            let connection = self.connections.get(&node, Use::Plain, deadline).await?;
            let value = connection.send(command, deadline).await?;
            return Ok(Waited { value, replicas });
        }
        let connection = self.connections.get(&node, Use::Waiting, deadline).await?;
        let mut wait = redis::cmd("WAIT");
        wait.arg(replicas).arg(self.wait_timeout.as_millis() as u64);
        let [value, have] = connection.send_both(command, &wait, deadline).await?;
        let replicas = reply::number(have)? as u8;
        Ok(Waited { value, replicas })
    }

    async fn node_of(&self, shard: Shard, deadline: Instant) -> Result<Node, Failure> {
        let slot = self.shards.slot(shard);
        let node = self.routes.node(slot, &self.connections, deadline).await?;
        node.ok_or(Failure::NotBegun(Cause::NoMaster(slot)))
    }

    /// Every master that has a shard, once.
    pub(crate) async fn masters(&self) -> Result<Vec<Node>, Failure> {
        let deadline = self.deadline();
        let mut masters = Vec::new();
        for shard in self.shards.all() {
            masters.push(self.node_of(shard, deadline).await?);
        }
        masters.sort_unstable();
        masters.dedup();
        Ok(masters)
    }

    /// A plain command to a server, such as a question about itself.
    pub(crate) async fn ask(&self, node: &Node, command: &redis::Cmd) -> Result<Value, Failure> {
        let deadline = self.deadline();
        let connection = self.connections.get(node, Use::Plain, deadline).await?;
        connection.send(command, deadline).await
    }
}

/// The same call on every shard at once.
pub(crate) async fn on_each<T, F>(
    link: &Arc<Link>,
    call: impl Fn(Arc<Link>, Shard) -> F,
) -> Result<Vec<T>, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let calls = link.shards.all().map(|shard| call(Arc::clone(link), shard));
    futures_util::future::try_join_all(calls).await
}
