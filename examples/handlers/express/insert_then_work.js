// Flawed: if the process dies while the bank is asked, the event is lost: every retry finds it known.

import { askTheBank, book, remember, serve, transaction } from "./shop.js";

serve(async (event) => {
  if (!remember(event)) return;
  await askTheBank(event);
  transaction(() => book(event));
});
