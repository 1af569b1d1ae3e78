//! On SQLite.

use std::time::Duration;

use hapax::{Inbox, Outcome};
use rusqlite::Connection;

use crate::line::{Delivery, Place, Request, WORK, hear, say, word};

/// SQLite has one writer at a time, and a delivery waits for every other.
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) fn serve(file: &str, inbox: &Inbox, is_cheating: bool) -> anyhow::Result<()> {
    let mut connection = Connection::open(file)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    while let Some(request) = hear()? {
        match request {
            Request::CreateTables => {
                hapax::create_tables(&connection)?;
                say("created")?;
            }
            Request::Deliver(delivery) => {
                let outcome = if is_cheating {
                    cheat(&mut connection, inbox, &delivery)?
                } else {
                    apply(&mut connection, inbox, &delivery)?
                };
                say(word(outcome))?;
            }
            Request::GoOn => anyhow::bail!("nothing is held"),
        }
    }
    Ok(())
}

fn apply(connection: &mut Connection, inbox: &Inbox, delivery: &Delivery) -> anyhow::Result<Outcome<()>> {
    let outcome = inbox.run_blocking(connection, &delivery.event()?, |tx| work(&tx, delivery));
    outcome.map_err(|error| anyhow::anyhow!(error.to_string()))
}

/// Commits the claim on its own, then does the work.
fn cheat(connection: &mut Connection, inbox: &Inbox, delivery: &Delivery) -> anyhow::Result<Outcome<()>> {
    let outcome = inbox
        .run_blocking(connection, &delivery.event()?, |_| anyhow::Ok(()))
        .map_err(|error| anyhow::anyhow!(error.to_string()))?;
    if outcome == Outcome::Processed(()) {
        work(connection, delivery)?;
    }
    Ok(outcome)
}

fn work(connection: &Connection, delivery: &Delivery) -> anyhow::Result<()> {
    delivery.pass(Place::BeforeWork)?;
    connection.execute(WORK, [delivery.event_id()])?;
    delivery.pass(Place::AfterWork)
}
