//! Flawed: checks whether the event is known, and remembers it when the work is done. Two duplicates that arrive
//! together both find it new, and both book it.

use rusqlite::OptionalExtension as _;

use crate::shop::{Payment, Shop};

pub(crate) async fn handle(shop: &Shop, payment: Payment) -> anyhow::Result<()> {
    let event_id = payment.event_id.clone();
    let known = shop
        .transaction(move |transaction| {
            let query = "select 1 from processed where event_id = ?1";
            transaction.query_row(query, [event_id], |_| Ok(())).optional()
        })
        .await?;
    if known.is_some() {
        return Ok(());
    }
    shop.ask_the_bank(&payment).await?;
    shop.transaction(move |transaction| {
        payment.book(transaction)?;
        payment.remember(transaction)
    })
    .await?;
    Ok(())
}
