//! The README and the guides say what is true: every command in them is understood, and every `hapax.toml` is accepted.

mod commands;
mod configuration;

use std::path::Path;

/// A block of code in a page.
struct Snippet {
    /// Where it is.
    place: String,
    /// The line above it, for readers of the source: `<!-- … -->`.
    remark: String,
    text: String,
}

/// Every block of these languages in the README, the guides, the pages of errors and the READMEs of the templates.
fn snippets(languages: &[&str]) -> Vec<Snippet> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    for folder in ["docs/guides", "docs/errors"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        pages.extend(entries.map(|entry| entry.unwrap().path()));
    }
    let templates = std::fs::read_dir(root.join("crates/hapax-cli/templates")).unwrap();
    let readmes = templates.map(|entry| entry.unwrap().path().join("README.md"));
    pages.extend(readmes.filter(|page| page.exists()));
    let mut found = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        let mut lines = text.lines().enumerate();
        let mut above = "";
        while let Some((number, line)) = lines.next() {
            if let Some(language) = line.trim_start().strip_prefix("```") {
                let block = lines.by_ref().map(|(_, line)| line);
                let block: Vec<&str> = block.take_while(|line| line.trim() != "```").collect();
                if languages.contains(&language) {
                    found.push(Snippet {
                        place: format!("{}:{}", page.display(), number + 1),
                        remark: above.trim().to_owned(),
                        text: block.join("\n"),
                    });
                }
            }
            above = line;
        }
    }
    found
}
