//! Which owners are alive, and the leases of those that are not. Every process reports through the same server, so one
//! table serves all.

use hapax_core::Owner;
use hapax_core::store::{Alive, AliveReport, Rescued};

use crate::bind::bind;
use crate::failure::Failure;
use crate::rescue;
use crate::rows::time_at;
use crate::session::Session;

const SELECT: &str = "SELECT owner, since, reported_at FROM hapax.owners ORDER BY owner";

const UPSERT: &str = "
    INSERT INTO hapax.owners (owner, since, reported_at) VALUES ($1::int8, $2::int8, $3::int8)
    ON CONFLICT (owner) DO UPDATE SET since = excluded.since, reported_at = excluded.reported_at";

// The owner may have reported since it was found dead. A locked row belongs to an owner that is reporting right now:
// two owners that consider each other dead would otherwise deadlock.
const DELETE: &str = "
    DELETE FROM hapax.owners WHERE owner = (
        SELECT owner FROM hapax.owners WHERE owner = $1::int8 AND reported_at = $2::int8 FOR UPDATE SKIP LOCKED)";

/// Records that an owner is alive, and takes back the leases of dead owners.
pub(crate) async fn report(session: &Session, report: AliveReport) -> Result<Vec<Rescued>, Failure> {
    let now = session.begin_at().await?;
    let owners = owners(session).await?;
    let before = owners.iter().find(|(owner, _)| *owner == report.owner);
    let own = Alive::reported(before.map(|(_, alive)| *alive), now, report.patience);
    session
        .execute(
            UPSERT,
            bind![
                report.owner.0 as i64,
                own.since.as_micros(),
                own.reported_at.as_micros()
            ],
        )
        .await?;
    let mut rescued = Vec::new();
    if own.may_declare_dead(report.patience) {
        let others = owners.iter().filter(|(owner, _)| *owner != report.owner);
        for (owner, alive) in others.filter(|(_, alive)| alive.is_dead(now, report.patience)) {
            let room = report.limit - rescued.len() as u32;
            let held = rescue::held_by(session, *owner, room).await?;
            if held.is_empty() && room > 0 {
                let last = alive.reported_at.as_micros();
                session.execute(DELETE, bind![owner.0 as i64, last]).await?;
            }
            rescued.extend(rescue::take_back(session, &held, None, now).await?);
        }
    }
    session.commit().await?;
    Ok(rescued)
}

async fn owners(session: &Session) -> Result<Vec<(Owner, Alive)>, Failure> {
    let rows = session.rows(SELECT, &[]).await?;
    rows.iter()
        .map(|row| {
            let alive = Alive {
                since: time_at(row, 1)?,
                reported_at: time_at(row, 2)?,
            };
            Ok((Owner(row.try_get::<_, i64>(0)? as u64), alive))
        })
        .collect()
}
