//! On PostgreSQL.

use hapax::{Inbox, Outcome};
use tokio_postgres::{Client, NoTls};

use crate::line::{Delivery, Place, Request, WORK, hear, say, word};

#[tokio::main]
pub(crate) async fn serve(url: &str, inbox: &Inbox, is_cheating: bool) -> anyhow::Result<()> {
    let (mut client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    while let Some(request) = hear()? {
        match request {
            Request::CreateTables => {
                hapax::create_tables(&client).await?;
                say("created")?;
            }
            Request::Deliver(delivery) => {
                let outcome = if is_cheating {
                    cheat(&mut client, inbox, &delivery).await?
                } else {
                    apply(&mut client, inbox, &delivery).await?
                };
                say(word(outcome))?;
            }
            Request::GoOn => anyhow::bail!("nothing is held"),
        }
    }
    Ok(())
}

async fn apply(client: &mut Client, inbox: &Inbox, delivery: &Delivery) -> anyhow::Result<Outcome<()>> {
    let handler = async |tx: hapax::Handling<'_, hapax::driver::TokioPostgres>| {
        delivery.pass(Place::BeforeWork)?;
        tx.execute(WORK, &[&delivery.event_id()]).await?;
        delivery.pass(Place::AfterWork)
    };
    let outcome = inbox.run(client, &delivery.event()?, handler).await;
    outcome.map_err(|error| anyhow::anyhow!(error.to_string()))
}

/// Commits the claim on its own, then does the work.
async fn cheat(client: &mut Client, inbox: &Inbox, delivery: &Delivery) -> anyhow::Result<Outcome<()>> {
    let outcome = inbox
        .run(&mut *client, &delivery.event()?, async |_| anyhow::Ok(()))
        .await
        .map_err(|error| anyhow::anyhow!(error.to_string()))?;
    if outcome == Outcome::Processed(()) {
        delivery.pass(Place::BeforeWork)?;
        client.execute(WORK, &[&delivery.event_id()]).await?;
        delivery.pass(Place::AfterWork)?;
    }
    Ok(outcome)
}
