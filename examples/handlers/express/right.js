// Right: the event is claimed and booked in one transaction.

import { askTheBank, book, remember, serve, transaction } from "./shop.js";

serve(async (event) => {
  await askTheBank(event);
  transaction(() => {
    if (remember(event)) book(event);
  });
});
