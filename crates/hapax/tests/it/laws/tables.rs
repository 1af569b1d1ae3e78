//! What `create_tables` creates.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{for_every_driver, written};
use crate::subject::{Dialect, Subject};

for_every_driver!(the_tables_are_as_written_however_often_they_are_created);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Laws {
    queries: Vec<Query>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Query {
    what: String,
    sql: String,
    rows: Vec<String>,
}

async fn the_tables_are_as_written_however_often_they_are_created<S: Subject>() {
    let laws: BTreeMap<Dialect, Laws> = written!("tables.json");
    let subject = S::new().await;
    for _ in 0..2 {
        for query in &laws[&S::DIALECT].queries {
            assert_eq!(subject.texts(&query.sql).await, query.rows, "{}", query.what);
        }
        subject.create_tables().await;
    }
}
