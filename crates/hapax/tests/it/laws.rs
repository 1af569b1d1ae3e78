//! Laws that hold for every driver. Every event is delivered at least twice.

mod duplicates;
mod failures;
mod identity;
mod keeping;
mod staging;

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
use {for_every_driver, for_postgres};

/// An inbox that waits as long as a test may take.
fn patient() -> hapax::Inbox {
    hapax::Inbox::new("billing")
        .unwrap()
        .wait(std::time::Duration::from_secs(30))
}

fn event(id: &str) -> hapax::Event {
    hapax::Event::new("stripe", id).unwrap().with_body(b"{}")
}

const BALANCE: &str = "select balance from account";
