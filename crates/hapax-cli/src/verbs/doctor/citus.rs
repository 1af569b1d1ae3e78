//! Whether Citus distributes the store across several servers.

use std::time::Duration;

use hapax_core::Secret;
use hapax_store_postgres::{Connector, Distribution, Node};

use super::check::Check;
use hapax_config::StoreUrl;

const NAME: &str = "citus";
const GUIDE: &str = "docs/guides/citus.md";
/// Limit for connecting, and then for one answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// `None` if the store does not use Citus or cannot be reached; another check reports that.
pub(super) async fn check(store: &StoreUrl) -> Option<Check> {
    let StoreUrl::Postgres(url) = store else {
        return None;
    };
    look(url).await.map(|found| judge(&found))
}

async fn look(url: &Secret) -> Option<Distribution> {
    let connector = Connector::new(url, TIMEOUT, TIMEOUT).ok()?;
    let client = connector.connect().await.ok()?.client;
    tokio::time::timeout(TIMEOUT, Distribution::of(&client))
        .await
        .ok()?
        .ok()?
}

fn judge(found: &Distribution) -> Check {
    if found.by_bucket == 0 {
        let detail =
            "Citus is installed in this database, and no table is distributed: all data is on this server";
        return Check::warn(NAME, detail, format!("distribute the tables as {GUIDE} says"));
    }
    if !found.not_spread.is_empty() {
        let names: Vec<_> = found.not_spread.iter().map(|one| one.table).collect();
        let statements: Vec<_> = found.not_spread.iter().map(|one| one.statement).collect();
        let detail = format!("not distributed, while others are: {}", names.join(", "));
        let fix = format!(
            "stop all replicas, run `{}`, start them again",
            statements.join(" ")
        );
        return Check::fail(NAME, detail, fix);
    }
    let with_shards: Vec<&Node> = found.nodes.iter().filter(|node| node.shards > 0).collect();
    let places: Vec<_> = with_shards
        .iter()
        .map(|node| format!("{} has {}", node.address, node.shards))
        .collect();
    let places = places.join(", ");
    let shards = found.shards;
    if with_shards.iter().map(|node| node.shards).sum::<u64>() > shards {
        let fix =
            format!("keep citus.shard_replication_factor at 1 and distribute the tables again: {GUIDE}");
        let detail = format!("shards are replicated, so Citus does not lock their rows: {places}");
        return Check::fail(NAME, detail, fix);
    }
    if with_shards.iter().all(|node| node.is_coordinator) {
        let detail = format!("all {shards} shards are on the coordinator: no other server shares the load");
        let fix = format!(
            "in this database, add each worker (`SELECT citus_add_node('worker-1', 5432);`), then move the \
             shards: {GUIDE}"
        );
        return Check::fail(NAME, detail, fix);
    }
    let mut idle = found
        .nodes
        .iter()
        .filter(|node| !node.is_coordinator && node.shards == 0);
    if let Some(idle) = idle.next() {
        let detail = format!("{} has no shards; of {shards}, {places}", idle.address);
        return Check::warn(NAME, detail, format!("move some of them to it: {GUIDE}"));
    }
    let (by_bucket, everywhere) = (found.by_bucket, found.everywhere);
    Check::ok(
        NAME,
        format!(
            "{by_bucket} tables are distributed over {shards} shards, {everywhere} are on every node; {places}"
        ),
    )
}

#[cfg(test)]
mod tests {
    use hapax_store_postgres::NotSpread;

    use super::super::check::Outcome;
    use super::*;

    fn node(address: &str, is_coordinator: bool, shards: u64) -> Node {
        Node {
            address: address.to_owned(),
            is_coordinator,
            shards,
        }
    }

    fn on(nodes: &[Node]) -> Distribution {
        Distribution {
            by_bucket: 15,
            everywhere: 9,
            not_spread: Vec::new(),
            shards: 32,
            nodes: nodes.to_vec(),
        }
    }

    fn outcome(found: &Distribution, says: &str) -> Outcome {
        let check = judge(found);
        let text = format!("{} {}", check.detail, check.fix.unwrap_or_default());
        assert!(text.contains(says), "no `{says}` in `{text}`");
        check.outcome
    }

    #[test]
    fn shards_on_the_coordinator_alone_are_found() {
        let coordinator = node("c:5432", true, 32);
        for nodes in [
            vec![coordinator.clone()],
            vec![coordinator, node("w:5432", false, 0)],
        ] {
            assert_eq!(outcome(&on(&nodes), "citus_add_node"), Outcome::Fail);
        }
    }

    #[test]
    fn shards_on_all_workers_are_as_they_should_be() {
        let workers = [
            node("c:5432", true, 0),
            node("v:5432", false, 16),
            node("w:5432", false, 16),
        ];
        assert_eq!(
            outcome(&on(&workers), "v:5432 has 16, w:5432 has 16"),
            Outcome::Ok
        );
    }

    #[test]
    fn a_worker_without_shards_is_found() {
        let workers = [
            node("c:5432", true, 0),
            node("v:5432", false, 32),
            node("w:5432", false, 0),
        ];
        assert_eq!(outcome(&on(&workers), "w:5432 has no shards"), Outcome::Warn);
    }

    #[test]
    fn replicated_shards_are_found() {
        let workers = [node("v:5432", false, 32), node("w:5432", false, 32)];
        assert_eq!(outcome(&on(&workers), "shard_replication_factor"), Outcome::Fail);
    }

    #[test]
    fn a_table_that_was_left_out_is_named_with_what_spreads_it() {
        let mut found = on(&[node("v:5432", false, 32)]);
        found.not_spread.push(NotSpread {
            table: "hapax.work",
            statement: "SELECT create_distributed_table('hapax.work');",
        });
        assert_eq!(
            outcome(&found, "SELECT create_distributed_table('hapax.work');"),
            Outcome::Fail
        );
        found.by_bucket = 0;
        assert_eq!(outcome(&found, "no table is distributed"), Outcome::Warn);
    }
}
