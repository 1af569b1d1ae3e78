//! The outbox: calls to other systems, written with the effect and made after it is committed.
//!
//! A call inside a transaction cannot be taken back when the transaction is, and a call after it is forgotten
//! when the process dies in between. A row in `hapax_outbox` is neither: Hapax makes the call once the row is
//! committed, with the row's `Idempotency-Key`, as often as it takes.

mod call;
mod staged;

pub use call::{Call, InvalidCall};
pub(crate) use staged::Origin;
pub use staged::Staged;

use crate::database::Transaction;

/// Writes `call` into the outbox, in this transaction.
///
/// Inside `Inbox::run` the key of a call without one is derived from the event, the consumer and the
/// call's number in the run; in a transaction of your own it is random. Either way it is stored in the row, and the
/// same at each attempt.
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
