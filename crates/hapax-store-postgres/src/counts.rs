//! Counts of everything. Nothing here walks the ledger or the payloads: the cost of counting deliveries follows the
//! backlog, and everything else is a stored sum.

use futures_util::future::join;
use hapax_core::store::{Backlog, Counts, LedgerCount};

use crate::bind::bind;
use crate::failure::Failure;
use crate::rows::{optional_time_at, state_of};
use crate::session::Session;
use crate::tallies::{EVENTS, LEDGER};

const UNFINISHED: &str = "
    SELECT destination, state, count(*), min(accepted_at) FROM hapax.work /* every bucket */
    GROUP BY destination, state";

const DEAD: &str = "
    SELECT destination, state, count(*), min(accepted_at) FROM hapax.outcomes /* every bucket */
    WHERE is_current AND state >= 4 AND state = 4 GROUP BY destination, state";

const SUMS: &str = "
    SELECT scope, sum(entries)::int8 FROM hapax.tallies /* every bucket */
    WHERE kind = $1::int2 GROUP BY scope ORDER BY scope";

const BYTES: &str = "
    SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::int8
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'hapax' AND c.relkind = 'r'";

pub(crate) async fn counts(session: &Session) -> Result<Counts, Failure> {
    session.begin_reading().await?;
    let mut counts = Counts::default();
    let (unfinished, dead) = join(session.rows(UNFINISHED, &[]), session.rows(DEAD, &[])).await;
    for row in unfinished?.iter().chain(&dead?) {
        counts.backlog.push(Backlog {
            destination: row.try_get::<_, &str>(0)?.into(),
            state: state_of(row.try_get(1)?)?,
            count: row.try_get::<_, i64>(2)? as u64,
            oldest: optional_time_at(row, 3)?,
        });
    }
    counts
        .backlog
        .sort_by(|one, other| (&one.destination, one.state).cmp(&(&other.destination, other.state)));
    for row in &session.rows(SUMS, bind![LEDGER]).await? {
        let entries = u64::try_from(row.try_get::<_, i64>(1)?).unwrap_or(0);
        if entries > 0 {
            counts.ledger.push(LedgerCount {
                scope: row.try_get::<_, &str>(0)?.into(),
                entries,
            });
        }
    }
    for row in &session.rows(SUMS, bind![EVENTS]).await? {
        counts.events = u64::try_from(row.try_get::<_, i64>(1)?).unwrap_or(0);
    }
    counts.store_bytes = u64::try_from(session.one(BYTES, &[]).await?.try_get::<_, i64>(0)?).unwrap_or(0);
    session.commit().await?;
    Ok(counts)
}
