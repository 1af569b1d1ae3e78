//! The text of a statement over rows. It is written once; the form, one run for all rows or one run per bucket, is
//! filled in:
//!
//! | in the text | all rows at once | one bucket |
//! |---|---|---|
//! | `{n}` | the rows as a table `n` with their buckets | the rows of that bucket as a table `n` |
//! | `{bucket}` | an expression that equals `n.bucket` | the parameter `$1` |
//! | `{one bucket}` | `n.bucket` | the parameter `$1` |
//! | `{rows}`, `{sorted rows}` | columns and rows of an `INSERT` | columns and the values of one row |
//!
//! Rows are locked in the order of `bucket + 0` and key. That is the order of the index by key, written so that the
//! planner does not recognise it: otherwise, where it believes a table to be empty, it would read the whole index to
//! save the sort.
//!
//! `{one bucket}` is for the first rows of each bucket in key order: the index yields them in that order only if the
//! planner knows that there is one bucket.
//!
//! `$1` is the bucket, the columns follow, and after them the values that all rows share. The numbers of parameters do
//! not depend on the form.

use tokio_postgres::types::Type;

use crate::Spread;

/// Equal to the row's bucket, written so that the planner cannot use it for a merge join, which would read the index by
/// key from end to end. Where the planner believes a table to be empty, that seems to cost no more than a lookup.
const BUCKET_OF_ROW: &str = "ANY (ARRAY[n.bucket])";

/// The bucket, if a statement is for one bucket.
const PARAMETER: &str = "$1::int2";

/// How a statement over rows is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Once for all rows.
    Whole,
    /// Once per bucket. A distributed database sends it to the one shard that has the bucket.
    InBucket,
    /// Once per row: a distributed database passes plain values on, but would collect the rows of an `INSERT … SELECT`.
    OneRow,
}

impl Form {
    /// The form of a text for this distribution.
    pub(crate) fn of(text: &str, spread: Spread) -> Self {
        match spread {
            Spread::Whole => Self::Whole,
            Spread::ByBucket if text.contains("{n}") => Self::InBucket,
            Spread::ByBucket => Self::OneRow,
        }
    }
}

/// Fills a text in. `columns` are the names and types of the columns after the bucket.
pub(crate) fn fill(text: &str, form: Form, columns: &[(&str, Type)]) -> String {
    let parameters = |suffix: &str| -> String {
        let numbered = columns.iter().zip(2..);
        let each = numbered.map(|((_, sql_type), number)| format!("${number}::{}{suffix}", sql_type.name()));
        each.collect::<Vec<_>>().join(", ")
    };
    let names = columns
        .iter()
        .map(|(name, _)| *name)
        .collect::<Vec<_>>()
        .join(", ");
    let arrays = parameters("[]");
    let (source, bucket, one_bucket, rows, sorted) = match form {
        Form::Whole => {
            let unnest = format!("unnest($1::int2[], {arrays})");
            (
                format!("{unnest} AS n (bucket, {names})"),
                BUCKET_OF_ROW,
                "n.bucket",
                format!("(bucket, {names}) SELECT * FROM {unnest} AS n"),
                format!(
                    "(bucket, {names}) SELECT bucket, {names} FROM {unnest} WITH ORDINALITY \
                     AS n (bucket, {names}, row_number) ORDER BY row_number"
                ),
            )
        }
        Form::InBucket => (
            format!("unnest({arrays}) AS n ({names})"),
            PARAMETER,
            PARAMETER,
            String::new(),
            String::new(),
        ),
        Form::OneRow => {
            let values = format!("(bucket, {names}) VALUES ($1::int2, {})", parameters(""));
            (String::new(), PARAMETER, PARAMETER, values.clone(), values)
        }
    };
    text.replace("{n}", &source)
        .replace("{bucket}", bucket)
        .replace("{one bucket}", one_bucket)
        .replace("{rows}", &rows)
        .replace("{sorted rows}", &sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [(&str, Type); 2] = [("id", Type::UUID), ("token", Type::INT8)];

    #[test]
    fn a_bucket_is_a_plain_parameter_where_tables_are_spread() {
        let text = "DELETE FROM t USING {n} WHERE t.bucket = {bucket} AND t.id = n.id AND t.at < $4::int8";
        assert_eq!(Form::of(text, Spread::ByBucket), Form::InBucket);
        assert_eq!(
            fill(text, Form::InBucket, &COLUMNS),
            "DELETE FROM t USING unnest($2::uuid[], $3::int8[]) AS n (id, token) \
             WHERE t.bucket = $1::int2 AND t.id = n.id AND t.at < $4::int8"
        );
        assert_eq!(
            fill(text, Form::Whole, &COLUMNS),
            "DELETE FROM t USING unnest($1::int2[], $2::uuid[], $3::int8[]) AS n (bucket, id, token) \
             WHERE t.bucket = ANY (ARRAY[n.bucket]) AND t.id = n.id AND t.at < $4::int8"
        );
    }

    #[test]
    fn the_first_rows_of_a_bucket_come_in_the_order_of_the_index() {
        let text = "SELECT f.id FROM {n} CROSS JOIN LATERAL (SELECT t.id FROM t WHERE t.bucket = {one bucket} \
                    AND t.id > n.id ORDER BY t.id LIMIT $4) AS f";
        assert!(fill(text, Form::Whole, &COLUMNS).contains("t.bucket = n.bucket AND"));
        assert!(fill(text, Form::InBucket, &COLUMNS).contains("t.bucket = $1::int2 AND"));
    }

    #[test]
    fn rows_are_inserted_one_by_one_where_tables_are_spread() {
        let text = "INSERT INTO t {rows} RETURNING id";
        assert_eq!(Form::of(text, Spread::ByBucket), Form::OneRow);
        assert_eq!(
            fill(text, Form::OneRow, &COLUMNS),
            "INSERT INTO t (bucket, id, token) VALUES ($1::int2, $2::uuid, $3::int8) RETURNING id"
        );
        assert_eq!(
            fill(text, Form::Whole, &COLUMNS),
            "INSERT INTO t (bucket, id, token) SELECT * FROM unnest($1::int2[], $2::uuid[], $3::int8[]) AS n \
             RETURNING id"
        );
    }
}
