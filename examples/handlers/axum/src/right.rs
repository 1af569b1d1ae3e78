//! Right: the event is claimed and booked in one transaction. If duplicates arrive together, one inserts the id and the
//! others find it; a crash undoes both the claim and the booking.

use crate::shop::{Payment, Shop};

pub(crate) async fn handle(shop: &Shop, payment: Payment) -> anyhow::Result<()> {
    shop.ask_the_bank(&payment).await?;
    shop.transaction(move |transaction| {
        if payment.remember(transaction)? {
            payment.book(transaction)?;
        }
        Ok(())
    })
    .await
}
