// Flawed: two copies that arrive together both find that the event is new, and both book it.

import { askTheBank, book, isKnown, remember, serve, transaction } from "./shop.js";

serve(async (event) => {
  if (isKnown(event)) return;
  await askTheBank(event);
  transaction(() => {
    book(event);
    remember(event);
  });
});
