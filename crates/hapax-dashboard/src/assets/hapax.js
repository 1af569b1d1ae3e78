// Enhances pages beyond links and forms. Every page works without this file.

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const one = (selector, root = document) => root.querySelector(selector);

// Strings from providers are handled here: they are only ever inserted as text.
function element(tag, attributes, ...content) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...content);
    return made;
}

// Theme -----------------------------------------------------------------------------------------------------------
// It changes immediately; the cookie is the one that the form would set.

for (const form of all("[data-theme-switch]")) {
    form.addEventListener("submit", (event) => {
        const theme = event.submitter?.value;
        if (!theme) return;
        event.preventDefault();
        document.documentElement.dataset.theme = theme;
        document.cookie = `hapax_theme=${theme}; path=/; max-age=31536000; samesite=strict`;
        for (const button of all("button", form)) {
            button.setAttribute("aria-pressed", String(button.value === theme));
        }
    });
}

// Dialogs ---------------------------------------------------------------------------------------------------------

for (const button of all("[data-help]")) {
    button.hidden = false;
    button.addEventListener("click", () => one("#help").showModal());
}
for (const button of all("dialog [data-close]")) {
    button.addEventListener("click", () => button.closest("dialog").close());
}

function askReplay(row) {
    // On the page of an event, the key focuses the replay form.
    if (!row) return one("[data-key=r]")?.focus();
    const dialog = one("#replay");
    if (!dialog) return;
    const { id } = row.dataset;
    one("form", dialog).action = `/events/${id}/replay`;
    one("[data-replay-id]", dialog).textContent = one("a", row)?.textContent ?? id;
    dialog.showModal();
}

// Keyboard --------------------------------------------------------------------------------------------------------

const links = () => all("[data-rows] tbody tr").map((row) => one("a", row)).filter(Boolean);
const currentRow = () => document.activeElement?.closest?.("[data-rows] tbody tr");

function move(step) {
    const rows = links();
    const at = rows.findIndex((link) => link.closest("tr") === currentRow());
    const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step;
    rows[Math.min(Math.max(next, 0), rows.length - 1)]?.focus();
}

const isTyping = (target) => target.matches?.("input, textarea, select, [contenteditable]");

document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (one("dialog[open]")) return;
    if (event.key === "Escape") {
        document.activeElement?.blur?.();
        return;
    }
    if (isTyping(event.target)) return;
    const does = {
        j: () => move(1),
        k: () => move(-1),
        r: () => (one("[data-key=r]") ? one("[data-key=r]").focus() : askReplay(currentRow())),
        "?": () => one("#help")?.showModal(),
        "/": () => (one("#q") ? (one("#q").focus(), one("#q").select()) : location.assign("/events")),
    }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
});

// Completion: a combobox over the search box ----------------------------------------------------------------------

function complete(input) {
    const list = element("ul", { id: "q-options", class: "options", role: "listbox", "aria-label": "Terms" });
    list.hidden = true;
    input.after(list);
    const roles = { role: "combobox", "aria-autocomplete": "list", "aria-controls": list.id, "aria-expanded": "false" };
    for (const [name, value] of Object.entries(roles)) input.setAttribute(name, value);
    let chosen = -1;
    let asked = 0;

    const options = () => all("[role=option]", list);
    const close = () => {
        asked += 1;
        list.hidden = true;
        chosen = -1;
        input.setAttribute("aria-expanded", "false");
        input.removeAttribute("aria-activedescendant");
    };
    const mark = (index) => {
        chosen = index;
        options().forEach((option, place) => option.setAttribute("aria-selected", String(place === index)));
        const option = options()[index];
        if (!option) return input.removeAttribute("aria-activedescendant");
        input.setAttribute("aria-activedescendant", option.id);
        option.scrollIntoView({ block: "nearest" });
    };
    const take = (term) => {
        input.value = input.value.replace(/\S*$/, "") + term + (/[:=]$/.test(term) ? "" : " ");
        input.focus();
        suggest();
    };
    const show = (suggestions) => {
        if (!suggestions.length) return close();
        list.replaceChildren(...suggestions.map(({ term, help }, index) => {
            const parts = [element("span", { class: "mono" }, term), element("span", { class: "muted small" }, help)];
            const option = element("li", { id: `q-option-${index}`, role: "option", "aria-selected": "false" }, ...parts);
            // `mousedown`, because it comes before the box loses focus, which closes the list.
            option.addEventListener("mousedown", (event) => {
                event.preventDefault();
                take(term);
            });
            option.dataset.term = term;
            return option;
        }));
        list.hidden = false;
        input.setAttribute("aria-expanded", "true");
        mark(-1);
    };
    async function suggest() {
        if (input.selectionEnd !== input.value.length) return close();
        const mine = (asked += 1);
        const answer = await fetch(`${input.dataset.complete}?q=${encodeURIComponent(input.value)}`).catch(() => null);
        if (!answer?.ok) return;
        const { suggestions } = await answer.json();
        // A response for earlier input is out of date.
        if (mine === asked && document.activeElement === input) show(suggestions);
    }

    input.addEventListener("input", suggest);
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
        const count = options().length;
        if (event.key === "Escape" && !list.hidden) {
            event.preventDefault();
            return close();
        }
        if (event.key === "ArrowDown" && list.hidden) {
            event.preventDefault();
            return void suggest();
        }
        if (list.hidden) return;
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (step) {
            event.preventDefault();
            return mark(chosen < 0 && step < 0 ? count - 1 : (chosen + step + count) % count);
        }
        if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) {
            event.preventDefault();
            take(options()[chosen].dataset.term);
        }
    });
}
for (const input of all("[data-complete]")) complete(input);

// Live tail -------------------------------------------------------------------------------------------------------
// Arrivals come a few times a second and are drawn immediately, with what is known on arrival. A moment later the
// table is fetched again, so that statuses, sizes and duplicates match the store.

const ROWS_MAX = 200;
const SETTLE_MS = 1_500;
const SAY_MS = 5_000;

function live(line) {
    const [state, words] = [one("[data-live-state]", line), one("[data-live-words]", line)];
    const [pause, fresh] = [one("[data-live-pause]"), one("[data-live-new]")];
    const [said, body, box] = [one("[data-live-said]"), one("[data-events]"), one("[data-scroll]")];
    let isPaused = false;
    let waiting = [];
    let unseen = 0;
    let missed = 0;
    let settling = 0;
    let drawn = 0;
    let lastSaid = 0;
    let toSay = 0;

    const isBusy = () => isPaused || box.matches(":hover") || box.contains(document.activeElement)
        || window.scrollY > 0 || one("dialog[open]") !== null;

    const tell = (tone, name, text) => {
        state.className = `badge ${tone}`;
        state.textContent = name;
        words.textContent = missed ? `${text} ${missed.toLocaleString("en")} arrived too fast to be shown.` : text;
    };
    const refresh = () => {
        fresh.hidden = unseen === 0;
        fresh.textContent = `Show ${unseen.toLocaleString("en")} new`;
        if (isPaused) return tell("warn", "Paused", "New events are counted but not shown.");
        if (unseen) return tell("warn", "Held", "New events wait while you are in the table.");
        tell("good", "Live", "New events appear on top.");
    };
    // Not for every row: a screen reader would never finish.
    const announce = (count) => {
        toSay += count;
        if (Date.now() - lastSaid < SAY_MS) return;
        lastSaid = Date.now();
        said.textContent = `${toSay} new ${toSay === 1 ? "event" : "events"}`;
        toSay = 0;
    };

    const row = (notice) => {
        const time = element("time", { datetime: notice.received_at, title: notice.received_at }, "now");
        const link = element("a", { href: `/events/${notice.id}` }, notice.event_id);
        const badge = element("span", { class: "badge busy" }, "◐ ", notice.status === "accepted" ? "arrived" : notice.status);
        const copies = notice.status === "duplicate" ? 1 : 0;
        return element("tr", { "data-id": notice.id, class: "new" },
            element("td", { class: "when" }, time),
            element("td", {}, notice.source),
            element("td", {}, notice.type ?? "–"),
            element("td", { class: "wrap mono" }, link),
            element("td", {}, badge),
            element("td", { class: "number", "data-duplicates": copies }, String(copies)),
            element("td", { class: "number" }, "–"));
    };
    const draw = (notice) => {
        const known = one(`tr[data-id="${CSS.escape(notice.id)}"]`, body);
        if (!known) return body.prepend(row(notice));
        if (notice.status !== "duplicate") return;
        const cell = one("[data-duplicates]", known);
        cell.dataset.duplicates = Number(cell.dataset.duplicates) + 1;
        cell.textContent = Number(cell.dataset.duplicates).toLocaleString("en");
    };
    const flush = () => {
        if (!waiting.length) return;
        for (const notice of waiting) draw(notice);
        waiting = [];
        unseen = 0;
        one("[data-empty]")?.remove();
        for (const extra of [...body.rows].slice(ROWS_MAX)) extra.remove();
        drawn += 1;
        settling ||= setTimeout(settle, SETTLE_MS);
    };
    async function settle() {
        settling = 0;
        const before = drawn;
        const answer = await fetch(location.href).catch(() => null);
        if (!answer?.ok || isBusy()) return;
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const rows = one("[data-events]", page);
        // Rows that arrived since are not in the response and would disappear for a moment.
        if (drawn !== before) return void (settling ||= setTimeout(settle, SETTLE_MS));
        if (rows && !isBusy()) body.replaceChildren(...rows.rows);
    }
    const look = () => {
        if (!isBusy()) flush();
        refresh();
    };

    pause.hidden = false;
    pause.addEventListener("click", () => {
        isPaused = !isPaused;
        pause.setAttribute("aria-pressed", String(isPaused));
        pause.textContent = isPaused ? "Resume" : "Pause";
        look();
    });
    fresh.addEventListener("click", () => {
        window.scrollTo(0, 0);
        flush();
        refresh();
    });
    for (const kind of ["mouseleave", "focusout"]) box.addEventListener(kind, () => setTimeout(look, 0));
    window.addEventListener("scroll", () => window.scrollY === 0 && look(), { passive: true });

    const source = new EventSource(line.dataset.live);
    source.addEventListener("open", refresh);
    source.addEventListener("error", () => {
        const over = source.readyState === EventSource.CLOSED;
        tell("bad", "Not live", over ? "The service ended the stream; reload the page." : "The connection was lost; reconnecting.");
    });
    source.addEventListener("arrivals", (event) => {
        const batch = JSON.parse(event.data);
        missed += batch.missed;
        unseen += batch.events.length + batch.more;
        waiting = [...waiting, ...batch.events].slice(-ROWS_MAX);
        announce(batch.events.length + batch.more);
        look();
    });
}
for (const line of all("[data-live]")) live(line);

// Copy buttons for exports and console URLs -----------------------------------------------------------------------
// Without JavaScript, the link shows the text, and a field can be selected and copied.

function copyButton(after, name, text) {
    const button = element("button", { type: "button", class: "button quiet copied", "aria-label": `Copy ${name}` });
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
        try {
            await navigator.clipboard.writeText(await text());
            button.textContent = "Copied";
        } catch {
            button.textContent = "Not copied: open it instead";
        }
    });
    after.after(button);
}

if (navigator.clipboard) {
    for (const link of all("[data-copy-from]")) {
        copyButton(link, link.textContent, async () => {
            const answer = await fetch(link.href);
            if (!answer.ok) throw new Error(String(answer.status));
            return answer.text();
        });
    }
    for (const code of all("[data-copy]")) copyButton(code, code.textContent, async () => code.textContent);
}
