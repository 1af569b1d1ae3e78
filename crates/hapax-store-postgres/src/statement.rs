//! Names of statements for the log, which never include bound values.

use std::panic::Location;

/// `INSERT hapax.ledger in accept/claim`: the verb, the first table that it names, and the file that contains it. If it
/// writes several tables, all of them: `INSERT hapax.ledger, hapax.events in accept/at_once`.
pub(crate) fn name(sql: &str, caller: &Location<'_>) -> String {
    let verb = sql.split_whitespace().next().unwrap_or_default();
    let words = || sql.split(|letter: char| !letter.is_ascii_alphanumeric() && !"._".contains(letter));
    let file = caller.file();
    let file = file.rsplit_once("src/").map_or(file, |(_, file)| file);
    let place = file.trim_end_matches(".rs");
    if verb == "WITH" {
        let after = |mark: &str| -> Vec<&str> {
            let named = words().zip(words().skip(1));
            let named = named.filter(|(word, table)| *word == mark && table.starts_with("hapax."));
            named.map(|(_, table)| table).collect()
        };
        let inserted = after("INTO");
        return if inserted.is_empty() {
            format!("UPDATE {} in {place}", after("UPDATE").join(", "))
        } else {
            format!("INSERT {} in {place}", inserted.join(", "))
        };
    }
    match words().find(|word| word.starts_with("hapax.")) {
        Some(table) => format!("{verb} {table} in {place}"),
        None => format!("{verb} in {place}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_named_by_what_it_does_and_where_it_is() {
        let here = Location::caller();
        for (sql, expected) in [
            (
                "\n  INSERT INTO hapax.ledger (key) VALUES ($1)",
                "INSERT hapax.ledger in statement",
            ),
            (
                "SELECT e.id FROM hapax.events e JOIN hapax.work w",
                "SELECT hapax.events in statement",
            ),
            (
                "WITH new AS (INSERT INTO hapax.ledger (key) VALUES ($1)), stored AS (INSERT INTO hapax.events ($2)) SELECT",
                "INSERT hapax.ledger, hapax.events in statement",
            ),
            (
                "WITH due AS (SELECT FROM hapax.work FOR UPDATE SKIP LOCKED), taken AS (UPDATE hapax.work AS w SET) SELECT",
                "UPDATE hapax.work in statement",
            ),
            ("COMMIT", "COMMIT in statement"),
        ] {
            assert_eq!(name(sql, here), expected);
        }
    }
}
