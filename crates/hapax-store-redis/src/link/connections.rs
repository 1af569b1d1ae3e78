//! Connections to servers: several for each, opened on demand and replaced when they break.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, IntoConnectionInfo, Pipeline, RedisConnectionInfo,
    Value,
};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, timeout_at};

use crate::Options;
use crate::failure::{Cause, Failure};
use crate::url::{Encrypted, Node, StoreAddress};

/// Connections to each server that wait for its replicas.
const WAITING: usize = 2;
/// Calls that may wait in one connection.
const CALLS_IN_A_CONNECTION: usize = 256;

pub(super) struct Connections {
    login: Login,
    of_each: usize,
    connect_timeout: Duration,
    idle_max: Duration,
    nodes: Mutex<HashMap<Node, Arc<Vec<Slot>>>>,
    turn: AtomicUsize,
    epoch: Arc<AtomicU64>,
}

struct Login {
    user: Option<String>,
    password: Option<String>,
    database: i64,
    encrypted: Encrypted,
}

/// The purpose of a connection. While one waits for replicas, it blocks every other call on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Plain,
    Waiting,
}

/// A slot for one connection.
#[derive(Default)]
struct Slot(AsyncMutex<Option<Open>>);

#[derive(Clone)]
struct Open {
    connection: MultiplexedConnection,
    /// Distinguishes it from its replacement.
    number: u64,
    used: Instant,
    scripts: Arc<Scripts>,
}

/// The hashes of the scripts that a server is known to have, since they were called on this connection. If the server
/// was restarted or replaced since, the connection has ended or is a different one.
#[derive(Debug, Default)]
pub(super) struct Scripts(Mutex<HashSet<String>>);

impl Scripts {
    pub(super) fn has(&self, hash: &str) -> bool {
        self.known().contains(hash)
    }

    pub(super) fn learn(&self, hash: &str) {
        if !self.has(hash) {
            self.known().insert(hash.to_owned());
        }
    }

    /// Clears the list: the server has lost its scripts.
    pub(super) fn clear(&self) {
        self.known().clear();
    }

    fn known(&self) -> parking_lot::MutexGuard<'_, HashSet<String>> {
        self.0.lock()
    }
}

impl Open {
    /// Whether the server still answers on it. The driver does not report that a connection has ended; a call would
    /// find out, but then it would be unknown whether it ran.
    async fn is_alive(&self, deadline: Instant) -> bool {
        let (mut connection, ping) = (self.connection.clone(), redis::cmd("PING"));
        matches!(
            timeout_at(deadline, connection.send_packed_command(&ping)).await,
            Ok(Ok(_))
        )
    }
}

/// A connection for one call.
pub(super) struct Lent {
    open: Open,
    nodes: Arc<Vec<Slot>>,
    place: usize,
    epoch: Arc<AtomicU64>,
}

impl Connections {
    pub(super) fn new(place: &StoreAddress, options: &Options) -> Self {
        Self {
            login: Login {
                user: place.user.clone(),
                password: place.password.clone(),
                database: place.database,
                encrypted: place.encrypted,
            },
            of_each: options.connections.max(1),
            connect_timeout: options.connect_timeout,
            idle_max: options.idle_max,
            nodes: Mutex::default(),
            turn: AtomicUsize::new(0),
            epoch: Arc::default(),
        }
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// The next connection to a server, opened if necessary.
    pub(super) async fn get(&self, node: &Node, purpose: Use, deadline: Instant) -> Result<Lent, Failure> {
        let nodes = self.slots(node);
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let place = match purpose {
            Use::Plain => turn % self.of_each,
            Use::Waiting => self.of_each + turn % WAITING,
        };
        let silent = |_| Failure::NotBegun(Cause::Silent);
        let mut slot = timeout_at(deadline, nodes[place].0.lock())
            .await
            .map_err(silent)?;
        let open = match slot.take() {
            Some(open) if open.used.elapsed() < self.idle_max || open.is_alive(deadline).await => open,
            broken => {
                if broken.is_some() {
                    self.epoch.fetch_add(1, Ordering::SeqCst);
                }
                let connection = timeout_at(deadline, self.connect(node)).await.map_err(silent)??;
                Open {
                    connection,
                    number: self.epoch.load(Ordering::SeqCst),
                    used: Instant::now(),
                    scripts: Arc::default(),
                }
            }
        };
        let used = Instant::now();
        let open = slot.insert(Open { used, ..open }).clone();
        drop(slot);
        let epoch = Arc::clone(&self.epoch);
        Ok(Lent {
            open,
            nodes,
            place,
            epoch,
        })
    }

    fn slots(&self, node: &Node) -> Arc<Vec<Slot>> {
        let mut nodes = self.nodes.lock();
        let slots = nodes
            .entry(node.clone())
            .or_insert_with(|| Arc::new((0..self.of_each + WAITING).map(|_| Slot::default()).collect()));
        Arc::clone(slots)
    }

    async fn connect(&self, node: &Node) -> Result<MultiplexedConnection, Failure> {
        let refused = |error| Failure::NotBegun(Cause::Server(Box::new(error)));
        let client = self.login.client(node).map_err(refused)?;
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.connect_timeout))
            .set_response_timeout(None)
            .set_pipeline_buffer_size(CALLS_IN_A_CONNECTION);
        let connection = client.get_multiplexed_async_connection_with_config(&config).await;
        connection.map_err(refused)
    }
}

impl Login {
    fn client(&self, node: &Node) -> redis::RedisResult<Client> {
        let address = match self.encrypted {
            Encrypted::No => ConnectionAddr::Tcp(node.host.clone(), node.port),
            Encrypted::Yes => ConnectionAddr::TcpTls {
                host: node.host.clone(),
                port: node.port,
                insecure: false,
                tls_params: None,
            },
        };
        let mut settings = RedisConnectionInfo::default().set_db(self.database);
        if let Some(user) = &self.user {
            settings = settings.set_username(user);
        }
        if let Some(password) = &self.password {
            settings = settings.set_password(password);
        }
        Client::open(address.into_connection_info()?.set_redis_settings(settings))
    }
}

impl Lent {
    /// The scripts that the server has.
    pub(super) fn scripts(&self) -> Arc<Scripts> {
        Arc::clone(&self.open.scripts)
    }

    /// Sends one command and returns its answer.
    pub(super) async fn send(self, command: &Cmd, deadline: Instant) -> Result<Value, Failure> {
        let mut connection = self.open.connection.clone();
        match timeout_at(deadline, connection.send_packed_command(command)).await {
            Ok(Ok(Value::ServerError(error))) => Err(Failure::of(error.into())),
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(self.failed(error)),
            Err(_) => Err(self.silent()),
        }
    }

    /// Sends two commands back to back.
    pub(super) async fn send_both(
        self,
        first: &Cmd,
        second: &Cmd,
        deadline: Instant,
    ) -> Result<[Value; 2], Failure> {
        let mut pipeline = Pipeline::with_capacity(2);
        pipeline.add_command(first.clone()).add_command(second.clone());
        let mut connection = self.open.connection.clone();
        let sent = timeout_at(deadline, connection.send_packed_commands(&pipeline, 0, 2)).await;
        let values = match sent {
            Ok(Ok(values)) => values,
            Ok(Err(error)) => return Err(self.failed(error)),
            Err(_) => return Err(self.silent()),
        };
        let mut answers = Vec::with_capacity(2);
        for value in values {
            match value {
                Value::ServerError(error) => return Err(Failure::of(error.into())),
                value => answers.push(value),
            }
        }
        answers
            .try_into()
            .map_err(|_| crate::failure::damaged("the answer to two commands"))
    }

    fn failed(&self, error: redis::RedisError) -> Failure {
        let failure = Failure::of(error);
        if matches!(failure, Failure::Unknown(_)) {
            self.discard();
        }
        failure
    }

    /// A connection that does not answer is not used again: a late answer would have no caller.
    fn silent(&self) -> Failure {
        self.discard();
        Failure::Unknown(Cause::Silent)
    }

    /// Does not wait: a call that is opening the next connection holds the slot for as long as that takes.
    fn discard(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        let number = self.open.number;
        if let Ok(mut slot) = self.nodes[self.place].0.try_lock() {
            forget(&mut slot, number);
            return;
        }
        let (nodes, place) = (Arc::clone(&self.nodes), self.place);
        tokio::spawn(async move { forget(&mut *nodes[place].0.lock().await, number) });
    }
}

fn forget(slot: &mut Option<Open>, number: u64) {
    if slot.as_ref().is_some_and(|open| open.number == number) {
        *slot = None;
    }
}
