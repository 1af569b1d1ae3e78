//! Flawed: remembers the event first, which keeps duplicates out, and works afterwards. If the work does not happen,
//! because the process died or the sender hung up and the request was dropped, the event is lost: every retry finds it
//! known.

use crate::shop::{Payment, Shop};

pub(crate) async fn handle(shop: &Shop, payment: Payment) -> anyhow::Result<()> {
    let claim = payment.clone();
    let new = shop
        .transaction(move |transaction| claim.remember(transaction))
        .await?;
    if !new {
        return Ok(());
    }
    shop.ask_the_bank(&payment).await?;
    shop.transaction(move |transaction| payment.book(transaction))
        .await
}
