//! The outbox: calls to other systems, written with the effect and made after it is committed.
//!
//! A call made inside a transaction cannot be undone if the transaction rolls back, and a call made after the commit is
//! lost if the process dies in between. A row in `hapax_outbox` avoids both: once it is committed, Hapax makes the
//! call, with the row's `Idempotency-Key`, and retries as often as necessary.

pub use crate::call::{Call, InvalidCall};
use crate::database::Transaction;
use crate::staged::Staged;
#[doc(hidden)]
pub use crate::staged::call_key;

/// Writes `call` to the outbox, in this transaction.
///
/// A call without a key gets one: inside `Inbox::run` it is derived from the event, the consumer and the call's number
/// in the run; in a transaction of your own it is random. In both cases the key is stored in the row and stays the same
/// for every attempt.
///
/// ```no_run
/// # #[cfg(feature = "sqlx-postgres")]
/// # async fn example(pool: sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
/// use hapax::outbox::{self, Call};
///
/// let mut tx = pool.begin().await?;
/// let mail = Call::http("https://mail.example.com/send")
///     .header("content-type", "application/json")
///     .body(r#"{"to":"ada@example.com"}"#)
///     .order_key("ada@example.com");
/// outbox::stage(&mut tx, mail).await?;
/// tx.commit().await?;
/// # Ok(())
/// # }
/// ```
pub fn stage<T: Transaction>(transaction: &mut T, call: Call) -> T::Answer<'_, ()> {
    transaction.stage(Staged::new(call))
}
