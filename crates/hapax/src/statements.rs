//! The statements of the drivers, in the dialect of each database. The libraries for other languages run the same ones,
//! so that services in different languages can share the tables.

pub mod postgres;
pub mod sqlite;
