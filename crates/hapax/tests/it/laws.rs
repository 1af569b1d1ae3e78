//! The laws. Those in `crates/hapax/laws` hold in every language; the others are about what only Rust has. Every event is
//! delivered at least twice.

mod calls;
mod failures;
mod keys;
mod names;
mod once;
mod outcomes;
mod script;
mod tables;

/// Runs each law for each driver.
macro_rules! for_every_driver {
    ($($law:ident),+ $(,)?) => {
        mod sqlx_postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $law() { super::$law::<crate::sqlx_postgres::Sqlx>().await; })+
        }
        mod tokio_postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $law() { super::$law::<crate::tokio_postgres::TokioPostgres>().await; })+
        }
        mod rusqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $law() { super::$law::<crate::rusqlite::Rusqlite>().await; })+
        }
    };
}
/// Runs each law for the PostgreSQL drivers only.
macro_rules! for_postgres {
    ($($law:ident),+ $(,)?) => {
        mod sqlx_postgres_only {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $law() { super::$law::<crate::sqlx_postgres::Sqlx>().await; })+
        }
        mod tokio_postgres_only {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $law() { super::$law::<crate::tokio_postgres::TokioPostgres>().await; })+
        }
    };
}
/// A file of `crates/hapax/laws`.
macro_rules! written {
    ($file:literal) => {
        serde_json::from_str(include_str!(concat!("../../../laws/", $file))).unwrap()
    };
}
use {for_every_driver, for_postgres, written};

/// `evt_1`, to which one is added.
fn delivery() -> crate::subject::Delivery {
    let event = hapax::Event::new("stripe", "evt_1").unwrap();
    crate::subject::Delivery::of(event.with_body(b"{}"))
}

const BALANCE: &str = "select balance from account";
