//! Shared by all versions: the signature, the database, the bank.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::HeaderMap;
use hapax_verify::{Options, Request, Verification, Verifier, catalogue};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use serde::Deserialize;

/// How long a statement waits for another writer.
const BUSY_LIMIT: Duration = Duration::from_secs(10);

const SCHEMA: &str = "
    pragma journal_mode = wal;
    create table if not exists processed (event_id text primary key);
    create table if not exists payments (number integer primary key, event_id text not null, amount integer not null);
    create table if not exists account (name text primary key, balance integer not null);
    insert or ignore into account values ('shop', 0);";

/// The shop. Clones share it.
#[derive(Clone)]
pub(crate) struct Shop {
    verifier: Arc<Verifier>,
    file: PathBuf,
    bank_takes: Duration,
}

/// The fields of an event that we use.
#[derive(Clone)]
pub(crate) struct Payment {
    pub(crate) event_id: String,
    pub(crate) amount: i64,
}

#[derive(Deserialize)]
struct Body {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    object: Object,
}

#[derive(Deserialize)]
struct Object {
    amount: i64,
}

impl Shop {
    pub(crate) fn open(file: &Path, secret: &str, bank_takes: Duration) -> anyhow::Result<Self> {
        let stripe =
            catalogue::get("stripe").ok_or_else(|| anyhow::anyhow!("stripe is not in the catalogue"))?;
        let verifier = Verifier::new(&stripe.recipe(), &[secret], &Options::default())?;
        Connection::open(file)?.execute_batch(SCHEMA)?;
        Ok(Self {
            verifier: Arc::new(verifier),
            file: file.to_owned(),
            bank_takes,
        })
    }

    /// The payment, if the signature is valid.
    pub(crate) fn verify(&self, headers: &HeaderMap, body: &[u8]) -> Option<Payment> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let request = Request::new(headers, body, now.as_secs() as i64);
        let Ok(Verification::Events(events)) = self.verifier.verify(&request) else {
            return None;
        };
        let Body { data } = serde_json::from_slice(body).ok()?;
        Some(Payment {
            event_id: events.into_iter().next()?.event_id,
            amount: data.object.amount,
        })
    }

    /// Asks the bank. It identifies the payment by the event's id, so asking twice does no harm. See `bank` for when it
    /// is closed.
    pub(crate) async fn ask_the_bank(&self, _payment: &Payment) -> anyhow::Result<()> {
        tokio::time::sleep(self.bank_takes).await;
        let mut closed = self.file.clone().into_os_string();
        closed.push(".closed");
        anyhow::ensure!(!Path::new(&closed).exists(), "the bank is closed");
        Ok(())
    }

    /// Runs statements in one transaction, on a thread that may block.
    pub(crate) async fn transaction<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let file = self.file.clone();
        let run = move || {
            let mut connection = Connection::open(file)?;
            connection.busy_timeout(BUSY_LIMIT)?;
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        tokio::task::spawn_blocking(run).await?
    }
}

impl Payment {
    /// The effect. None of it is idempotent.
    pub(crate) fn book(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let (event_id, amount) = (&self.event_id, self.amount);
        transaction.execute(
            "insert into payments (event_id, amount) values (?1, ?2)",
            (event_id, amount),
        )?;
        transaction.execute("update account set balance = balance + ?1", [amount])?;
        Ok(())
    }

    /// Remembers the event. `false` if it was already known.
    pub(crate) fn remember(&self, transaction: &Transaction<'_>) -> rusqlite::Result<bool> {
        let insert = "insert into processed values (?1) on conflict do nothing";
        Ok(transaction.execute(insert, [&self.event_id])? == 1)
    }
}
