// Examines the page as an accessibility checker does, and returns the faults. Contrast is computed from the styles.
const faults = [];
const fault = (kind, element, more = "") => {
    const text = (element?.outerHTML ?? "").replace(/\s+/g, " ").slice(0, 140);
    faults.push(`${kind}: ${text} ${more}`.trim());
};
const all = (selector) => [...document.querySelectorAll(selector)];
const isShown = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;

// Animations are finished before the page is examined.
document.body.getBoundingClientRect();
for (const animation of document.getAnimations()) animation.finish();

// Structure.
if (document.documentElement.lang !== "en") fault("the page has no language");
if (!document.title.trim()) fault("the page has no title");
if (all("h1").length !== 1) fault("the page has not one h1", all("h1")[1]);
for (const landmark of ["header", "main", "footer"]) {
    if (all(`body > ${landmark}`).length !== 1) fault(`the page has not one ${landmark}`);
}
let level = 1;
for (const heading of all("main h1, main h2, main h3, main h4").filter(isShown)) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) fault("a heading leaves a level out", heading);
    level = own;
}
const ids = all("[id]").map((element) => element.id);
for (const id of new Set(ids.filter((id, place) => ids.indexOf(id) !== place))) fault(`the id ${id} is there twice`, document.getElementById(id));
for (const nav of all("nav")) if (!nav.getAttribute("aria-label")) fault("a navigation has no name", nav);
for (const table of all("table")) {
    if (!table.querySelector("thead th")) fault("a table has no header", table);
    for (const head of table.querySelectorAll("th")) if (!head.scope) fault("a header cell has no scope", head);
}
for (const image of all("img, svg[role=img]")) {
    if (!(image.getAttribute("alt") ?? image.getAttribute("aria-label"))) fault("a picture has no name", image);
}
for (const reference of ["aria-labelledby", "aria-describedby", "aria-controls"]) {
    for (const element of all(`[${reference}]`)) {
        for (const id of element.getAttribute(reference).split(/\s+/)) {
            if (!document.getElementById(id)) fault(`${reference} leads nowhere`, element);
        }
    }
}

// Names.
const named = (element) => {
    const by = element.getAttribute("aria-labelledby");
    if (by) return by.split(/\s+/).map((id) => document.getElementById(id)?.textContent ?? "").join(" ").trim();
    const label = element.getAttribute("aria-label")?.trim();
    if (label) return label;
    if (element.matches("input, select, textarea")) return [...(element.labels ?? [])].map((one) => one.textContent).join(" ").trim();
    return element.textContent.trim();
};
const controls = all("a[href], button, input:not([type=hidden]), select, textarea, summary, dialog, progress, [role=region]");
for (const control of controls) if (!named(control)) fault("a control has no name", control);

// Contrast.
const parse = (text) => {
    const [red, green, blue, alpha = 1] = text.match(/[\d.]+/g).map(Number);
    return { red, green, blue, alpha };
};
const over = (top, under) => {
    const mix = (part) => top[part] * top.alpha + under[part] * (1 - top.alpha);
    return { red: mix("red"), green: mix("green"), blue: mix("blue"), alpha: 1 };
};
const ground = (element) => {
    if (!element) return { red: 255, green: 255, blue: 255, alpha: 1 };
    const own = parse(getComputedStyle(element).backgroundColor);
    return own.alpha === 1 ? own : over(own, ground(element.parentElement));
};
const luminance = ({ red, green, blue }) => {
    const linear = (part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
};
const contrast = (one, other) => {
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
};
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !isShown(element) || element.closest("script, style, title, .visually-hidden, :disabled, fieldset:disabled")) continue;
    const style = getComputedStyle(element);
    const under = ground(element);
    const colour = over(parse(element.closest("svg") ? style.fill : style.color), under);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = contrast(colour, under);
    if (ratio < (isLarge ? 3 : 4.5)) fault("text is hard to read", element, `contrast ${ratio.toFixed(2)}`);
}

// Focus.
for (const control of all("a[href], button, input:not([type=hidden]), select, textarea, summary").filter(isShown)) {
    if (control.matches(":disabled")) continue;
    control.focus({ preventScroll: true });
    for (const animation of document.getAnimations()) animation.finish();
    const { outlineStyle, outlineWidth } = getComputedStyle(control);
    if (outlineStyle === "none" || parseFloat(outlineWidth) < 2) fault("the focus is not seen", control, `${outlineStyle} ${outlineWidth}`);
}
document.activeElement?.blur();
return faults;
