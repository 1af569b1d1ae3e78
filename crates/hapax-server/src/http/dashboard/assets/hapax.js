// What pages do beyond links and forms. Every page works without this file.

// The theme changes at once; the cookie is what the form would have set.
for (const form of document.querySelectorAll("[data-theme-switch]")) {
    form.addEventListener("submit", (event) => {
        const theme = event.submitter?.value;
        if (!theme) return;
        event.preventDefault();
        document.documentElement.dataset.theme = theme;
        document.cookie = `hapax_theme=${theme}; path=/; max-age=31536000; samesite=strict`;
        for (const button of form.querySelectorAll("button")) {
            button.setAttribute("aria-pressed", String(button.value === theme));
        }
    });
}
