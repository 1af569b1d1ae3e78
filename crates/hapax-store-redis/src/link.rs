//! Calls to shards: which server has one, connections to it, and what to do when it has moved, died or is silent.
//!
//! We have our own router, on connections of the `redis` crate. A general one hides what matters here: `WAIT` must use
//! the connection that wrote, a call that may have run must not be sent twice, and code that caches the store's answers
//! must learn that a connection was replaced.

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
use crate::url::{Node, StoreAddress};
use crate::{Options, reply};
use connections::{Connections, Use};
use routes::Routes;

/// The pause between two tries of a call that has not begun.
const PAUSE: Duration = Duration::from_millis(20);
/// A further try needs this part of a call's time, or is not started: a try that is cut off may have run, and nobody
/// would run its leases until they expire.
const TRIES: u32 = 10;

/// The connection to every shard.
pub(crate) struct Link {
    shards: Shards,
    connections: Connections,
    /// Shared by every link of the store: a route that one has learnt, another need not ask for.
    routes: Arc<Routes>,
    calls: Semaphore,
    /// The greatest number that any shard has returned, on any link of the store.
    floor: Arc<AtomicU64>,
    call_timeout: Duration,
    wait_timeout: Duration,
}

/// A call to a shard.
struct Call<'c> {
    shard: Shard,
    script: &'c Script,
    args: &'c [Vec<u8>],
    /// Replicas to wait for afterwards.
    replicas: u8,
    form: ScriptForm,
}

/// How a script is sent to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScriptForm {
    /// By its hash if the server is known to have it, otherwise with its text.
    AsKnown,
    /// With its text: the server has forgotten it.
    Text,
}

/// The answer of a script, and how many replicas have its writes.
pub(crate) struct Waited {
    pub(crate) value: Value,
    pub(crate) replicas: u8,
}

impl Link {
    pub(crate) fn new(place: &StoreAddress, shards: Shards, options: &Options) -> Self {
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

    /// Another link to the same shards, with separate connections and limits: calls on one never wait for calls on the
    /// other.
    pub(crate) fn beside(&self, place: &StoreAddress, options: &Options) -> Self {
        Self {
            floor: Arc::clone(&self.floor),
            routes: Arc::clone(&self.routes),
            ..Self::new(place, self.shards.clone(), options)
        }
    }

    pub(crate) const fn shards(&self) -> &Shards {
        &self.shards
    }

    /// Changes with every connection that was replaced.
    pub(crate) fn epoch(&self) -> u64 {
        self.connections.epoch() + self.routes.epoch()
    }

    /// Admits one more step; a step makes as many calls as it needs.
    pub(crate) fn admit(&self) -> Result<SemaphorePermit<'_>, Failure> {
        self.calls.try_acquire().map_err(|_| Failure::TooMany)
    }

    /// The deadline of a call that begins now.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.call_timeout
    }

    /// A lower bound for the next number and the distance between the numbers of a shard, in the form used by scripts.
    pub(crate) fn floor(&self) -> Vec<u8> {
        let floor = self.floor.load(Ordering::Relaxed);
        format!("{floor} {}", self.shards.count()).into_bytes()
    }

    /// Remembers a number that a shard has issued.
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

    /// Runs a script on a shard, then waits until this many replicas have everything that its master had by then, or
    /// until the timeout.
    pub(crate) async fn call_and_wait(
        &self,
        shard: Shard,
        script: &Script,
        args: &[Vec<u8>],
        replicas: u8,
        deadline: Instant,
    ) -> Result<Waited, Failure> {
        let mut call = Call {
            shard,
            script,
            args,
            replicas,
            form: ScriptForm::AsKnown,
        };
        let mut deadline = deadline;
        fail::fail_point!("redis.before_script");
        loop {
            let failure = match self.once(&call, deadline).await {
                Ok(value) => {
                    fail::fail_point!("redis.after_script");
                    return Ok(value);
                }
                Err(failure) => failure,
            };
            let next = failure.next();
            if next == Next::WithText && call.form == ScriptForm::AsKnown {
                // It has not begun, and it will with its text: no reason to stop, however little time is left.
                call.form = ScriptForm::Text;
                deadline = deadline.max(Instant::now() + self.call_timeout / TRIES);
                continue;
            }
            if Instant::now() + self.call_timeout / TRIES >= deadline {
                return Err(failure);
            }
            match (&failure, next, script.repeat()) {
                (_, Next::To(node), _) => self.routes.moved(self.shards.slot(shard), node),
                (_, Next::Later, _) | (Failure::Unknown(_), _, Repeat::Safe) => {
                    self.routes.doubt();
                    sleep(PAUSE).await;
                }
                (_, Next::WithText | Next::Never, _) => return Err(failure),
            }
        }
    }

    async fn once(&self, call: &Call<'_>, deadline: Instant) -> Result<Waited, Failure> {
        let node = self.node_of(call.shard, deadline).await?;
        let purpose = if call.replicas == 0 {
            Use::Plain
        } else {
            Use::Waiting
        };
        let connection = self.connections.get(&node, purpose, deadline).await?;
        let scripts = connection.scripts();
        // The text is included if the server may not have it: after a refusal, `WAIT` would wait for nothing.
        let is_known = call.form == ScriptForm::AsKnown && scripts.has(call.script.hash());
        let command = if is_known {
            call.script.by_hash(&self.shards, call.shard, call.args)
        } else {
            call.script.by_text(&self.shards, call.shard, call.args)
        };
        let sent = if call.replicas == 0 {
            let value = connection.send(&command, deadline).await;
            value.map(|value| Waited { value, replicas: 0 })
        } else {
            let wait = self.wait(call.replicas, deadline);
            let sent = connection.send_both(&command, &wait, deadline).await;
            sent.and_then(|[value, have]| {
                let replicas = reply::number(have)? as u8;
                Ok(Waited { value, replicas })
            })
        };
        match &sent {
            Ok(_) => scripts.learn(call.script.hash()),
            Err(failure) if failure.next() == Next::WithText => scripts.clear(),
            Err(_) => {}
        }
        sent
    }

    /// `WAIT`, limited by its own timeout and by the call's deadline. Too few replicas is an answer, too.
    fn wait(&self, replicas: u8, deadline: Instant) -> redis::Cmd {
        let left = deadline.saturating_duration_since(Instant::now());
        let limit = self
            .wait_timeout
            .min(left.saturating_sub(self.call_timeout / TRIES));
        let mut wait = redis::cmd("WAIT");
        // Zero would mean forever.
        wait.arg(replicas).arg((limit.as_millis() as u64).max(1));
        wait
    }

    async fn node_of(&self, shard: Shard, deadline: Instant) -> Result<Node, Failure> {
        let slot = self.shards.slot(shard);
        let node = self.routes.node(slot, &self.connections, deadline).await?;
        node.ok_or(Failure::NotBegun(Cause::NoMaster(slot)))
    }

    /// Makes the next call ask the cluster for its layout again.
    pub(crate) fn doubt(&self) {
        self.routes.doubt();
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

    /// Sends a plain command to a server, such as `INFO`.
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
