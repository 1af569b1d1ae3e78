//! Builds `docs/` into a book, and writes a table of its files for `include!`. mdBook is a library here, with its theme
//! compiled in: nothing is downloaded.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mdbook_driver::MDBook;
use mdbook_driver::book::BookItem;
use mdbook_driver::config::Config;
use sha2::{Digest as _, Sha256};

#[expect(
    clippy::disallowed_methods,
    reason = "cargo passes both to build scripts this way"
)]
fn main() -> Result<()> {
    let docs = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?)
        .join("../../docs")
        .canonicalize()?;
    println!("cargo::rerun-if-changed={}", docs.display());
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let built = out.join("book");
    let mut config = Config::from_disk(docs.join("book.toml"))?;
    config.build.build_dir.clone_from(&built);
    let mut book = MDBook::load_with_config(&docs, config)?;
    book.book.for_each_mut(|item| {
        if let BookItem::Chapter(chapter) = item {
            let depth = chapter.path.iter().flatten().count();
            chapter.content = outside_links(&chapter.content, depth);
        }
    });
    book.build().context("the book cannot be built")?;
    std::fs::write(out.join("files.rs"), table(&docs, &built)?)?;
    Ok(())
}

/// Links to files that are not in the book lead to the repository; to the description of the API, to where it is served.
fn outside_links(page: &str, depth: usize) -> String {
    let repository = concat!("](", env!("CARGO_PKG_REPOSITORY"), "/blob/main/");
    page.replace(&format!("]({}", "../".repeat(depth)), repository)
        .replace("](openapi.json)", "](/api/v1/openapi.json)")
}

/// The items of `src/lib.rs`: files in the order of their paths, their policy, pages of codes.
fn table(docs: &Path, built: &Path) -> Result<String> {
    let mut text = String::from("pub static FILES: &[File] = &[\n");
    let (mut scripts, mut styles) = (BTreeSet::new(), BTreeSet::new());
    for (name, path) in files(built)? {
        let Some(media_type) = media_type(&name) else {
            continue;
        };
        let bytes = std::fs::read(&path)?;
        if media_type.starts_with("text/html") {
            let html = std::str::from_utf8(&bytes)?;
            scripts.extend(hashes(html, "<script>", "</script>"));
            styles.extend(hashes(html, " style=\"", "\""));
        }
        let tag = format!("\"{}\"", hex::encode(&Sha256::digest(&bytes)[..8]));
        writeln!(
            text,
            "    File {{ path: {name:?}, media_type: {media_type:?}, tag: {tag:?}, bytes: include_bytes!({path:?}) }},"
        )?;
    }
    writeln!(
        text,
        "];\npub static POLICY: &str = {:?};",
        policy(&scripts, &styles)
    )?;
    // The compiler refuses a code without a page, and a page without a code.
    text.push_str("const fn page_of(code: Code) -> &'static str {\n    match code {\n");
    for (name, path) in files(&docs.join("errors"))? {
        let variant: String = name.trim_end_matches(".md").split('_').map(capitalised).collect();
        writeln!(text, "        Code::{variant} => include_str!({path:?}),")?;
    }
    text.push_str("    }\n}\n");
    Ok(text)
}

fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_ascii_uppercase() + rest
}

/// What browsers may do with the files: load from this port alone, and nothing inline but what mdBook's template has. Only
/// the list of pages, for browsers without scripts, is framed, and only by the book.
fn policy(scripts: &BTreeSet<String>, styles: &BTreeSet<String>) -> String {
    let scripts: String = scripts.iter().map(String::as_str).collect();
    let styles: String = styles.iter().map(String::as_str).collect();
    format!(
        "default-src 'none'; script-src 'self'{scripts}; style-src 'self' 'unsafe-hashes'{styles}; img-src 'self' data:; \
         connect-src 'self'; frame-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
    )
}

/// What stands between `open` and `close`, each as a Content-Security-Policy names it.
fn hashes(html: &str, open: &str, close: &str) -> impl Iterator<Item = String> {
    let texts = html.split(open).skip(1);
    let texts = texts.filter_map(move |rest| Some(rest.split_once(close)?.0));
    texts.map(|text| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(text))))
}

/// Nothing else is served: not the pictures of the README, not the sources of the theme.
fn media_type(name: &str) -> Option<&'static str> {
    if name.starts_with("theme/") {
        return None;
    }
    match name.rsplit_once('.')?.1 {
        "html" => Some("text/html; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        "png" if name == "images/events-light.png" => Some("image/png"),
        _ => None,
    }
}

/// Every file below a folder, with its name there, in order.
fn files(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder)?.to_string_lossy().into_owned();
                found.push((name, path.to_string_lossy().into_owned()));
            }
        }
    }
    found.sort();
    Ok(found)
}
