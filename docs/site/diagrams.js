// Draws the blocks of Mermaid, in the colours of the page. Nothing is loaded from elsewhere.
(() => {
    const blocks = document.querySelectorAll("code.language-mermaid");
    if (blocks.length === 0) {
        return;
    }
    const themes = ["coal", "navy", "ayu"];
    const isDark = themes.some((theme) => document.documentElement.classList.contains(theme));
    for (const block of blocks) {
        const figure = document.createElement("div");
        figure.className = "mermaid";
        figure.textContent = block.textContent;
        block.parentElement.replaceWith(figure);
    }
    const theme = isDark ? "dark" : "neutral";
    mermaid.initialize({ startOnLoad: false, theme, fontSize: 18, flowchart: { useMaxWidth: true } });
    mermaid.run({ querySelector: ".mermaid" });
    // A diagram keeps the colours in which it was drawn.
    for (const button of document.querySelectorAll("#mdbook-theme-list button, #theme-list button")) {
        button.addEventListener("click", () => {
            const willBeDark = themes.some((name) => button.id.endsWith(name));
            if (willBeDark !== isDark) {
                window.location.reload();
            }
        });
    }
})();
