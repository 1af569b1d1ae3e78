//! Rows for a statement, as columns, and how they are divided among its runs.

use std::collections::BTreeMap;

use tokio_postgres::types::{ToSql, Type};

use crate::bind::{Column, Listed, Param, Typed};
use crate::template::Form;

/// A value bound to a parameter.
type Cell<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// Rows, each in a bucket. Statements over them are templates as described in [`crate::template`].
pub(crate) struct Batch<'a> {
    buckets: Column<i16>,
    columns: Vec<(&'static str, Box<dyn Cells<'a> + 'a>)>,
    values: Vec<(Cell<'a>, Type)>,
}

impl<'a> Batch<'a> {
    /// One row per given bucket.
    pub(crate) fn in_buckets(buckets: impl IntoIterator<Item = i16>) -> Self {
        Self {
            buckets: buckets.into_iter().collect(),
            columns: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Adds a column.
    pub(crate) fn column<T>(mut self, name: &'static str, cells: impl IntoIterator<Item = T>) -> Self
    where
        T: Listed + Typed + ToSql + Clone + Send + Sync + 'a,
    {
        let cells: Column<T> = cells.into_iter().collect();
        self.columns.push((name, Box::new(cells)));
        self
    }

    /// Adds a column with the same value in every row.
    pub(crate) fn same<T>(self, name: &'static str, cell: T) -> Self
    where
        T: Listed + Typed + ToSql + Clone + Send + Sync + 'a,
    {
        let rows = self.buckets.0.len();
        self.column(name, std::iter::repeat_n(cell, rows))
    }

    /// Adds a parameter after all columns.
    pub(crate) fn value<T: Typed + ToSql + Send + Sync + 'a>(mut self, value: T) -> Self {
        self.values.push((Box::new(value), T::TYPE));
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.buckets.0.is_empty()
    }

    /// Names and types of the columns after the bucket.
    pub(crate) fn columns(&self) -> Vec<(&'static str, Type)> {
        let columns = self.columns.iter();
        columns.map(|(name, cells)| (*name, cells.sql_type())).collect()
    }

    /// All rows as arrays, one for each column, the buckets first.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = Param<'_>> {
        let columns = self.columns.iter().map(|(_, cells)| cells.array());
        std::iter::once(self.buckets.array()).chain(columns)
    }

    /// The parameters of each run of a statement, ordered by bucket and then by row, so that rows are locked in the
    /// same order in either form.
    pub(crate) fn runs(&self, form: Form) -> Vec<Run<'_, 'a>> {
        match form {
            Form::Whole => vec![self.run(None, &(0..self.buckets.0.len()).collect::<Vec<_>>())],
            Form::InBucket => {
                let mut by_bucket: BTreeMap<i16, Vec<usize>> = BTreeMap::new();
                for (row, bucket) in self.buckets.0.iter().enumerate() {
                    by_bucket.entry(*bucket).or_default().push(row);
                }
                let buckets = by_bucket.into_iter();
                buckets
                    .map(|(bucket, rows)| self.run(Some(bucket), &rows))
                    .collect()
            }
            Form::OneRow => {
                let mut rows: Vec<(i16, usize)> = self.buckets.0.iter().copied().zip(0..).collect();
                rows.sort_unstable();
                rows.into_iter()
                    .map(|(bucket, row)| self.row(bucket, row))
                    .collect()
            }
        }
    }

    /// A run over several rows: of one bucket, or with a column of buckets.
    fn run(&self, bucket: Option<i16>, rows: &[usize]) -> Run<'_, 'a> {
        let first: (Cell<'a>, Type) = match bucket {
            Some(bucket) => (Box::new(bucket), i16::TYPE),
            None => (Box::new(Column(self.buckets.0.clone())), i16::ARRAY),
        };
        let columns = self.columns.iter().map(|(_, cells)| cells.pick(rows));
        Run {
            cells: std::iter::once(first).chain(columns).collect(),
            values: &self.values,
        }
    }

    /// A run over one row.
    fn row(&self, bucket: i16, row: usize) -> Run<'_, 'a> {
        let first: (Cell<'a>, Type) = (Box::new(bucket), i16::TYPE);
        let columns = self.columns.iter().map(|(_, cells)| cells.at(row));
        Run {
            cells: std::iter::once(first).chain(columns).collect(),
            values: &self.values,
        }
    }
}

/// One run's parameters.
pub(crate) struct Run<'b, 'a> {
    cells: Vec<(Cell<'a>, Type)>,
    values: &'b [(Cell<'a>, Type)],
}

impl Run<'_, '_> {
    pub(crate) fn params(&self) -> Vec<Param<'_>> {
        let cells = self.cells.iter().chain(self.values);
        cells
            .map(|(cell, sql_type)| (param(cell), sql_type.clone()))
            .collect()
    }
}

fn param<'c>(cell: &'c Cell<'_>) -> &'c (dyn ToSql + Sync) {
    cell.as_ref()
}

/// A column of any type.
trait Cells<'a>: Send + Sync {
    /// The type of one cell.
    fn sql_type(&self) -> Type;
    /// The whole column.
    fn array(&self) -> Param<'_>;
    /// The column restricted to these rows.
    fn pick(&self, rows: &[usize]) -> (Cell<'a>, Type);
    /// One row's cell.
    fn at(&self, row: usize) -> (Cell<'a>, Type);
}

impl<'a, T: Listed + Typed + ToSql + Clone + Send + Sync + 'a> Cells<'a> for Column<T> {
    fn sql_type(&self) -> Type {
        T::TYPE
    }

    fn array(&self) -> Param<'_> {
        (self, T::ARRAY)
    }

    fn pick(&self, rows: &[usize]) -> (Cell<'a>, Type) {
        let picked: Self = rows.iter().filter_map(|row| self.0.get(*row).cloned()).collect();
        (Box::new(picked), T::ARRAY)
    }

    fn at(&self, row: usize) -> (Cell<'a>, Type) {
        (Box::new(self.0.get(row).cloned()), T::TYPE)
    }
}
