//! The guides and references of this very version, compiled in: served under `/docs`, and printed by `hapax explain`.

use hapax_core::problem::Code;

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// One file of the book.
#[derive(Debug)]
pub struct File {
    /// Where it is below `/docs/`.
    pub path: &'static str,
    /// What it is.
    pub media_type: &'static str,
    /// Its `ETag`, quotes and all.
    pub tag: &'static str,
    /// What is in it.
    pub bytes: &'static [u8],
}

/// The file at a path below `/docs/`; the empty path is the first page.
pub fn file(path: &str) -> Option<&'static File> {
    let path = if path.is_empty() { "index.html" } else { path };
    let index = FILES.binary_search_by(|file| file.path.cmp(path)).ok()?;
    FILES.get(index)
}

/// What a problem code means, why it happens and what to do, as Markdown.
pub const fn error_page(code: Code) -> &'static str {
    page_of(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of `href` and `src` in a page that name a file of ours, without what follows `#` or `?`.
    fn links(html: &str) -> impl Iterator<Item = &str> {
        let values = html
            .split(" href=\"")
            .skip(1)
            .chain(html.split(" src=\"").skip(1));
        let values = values.filter_map(|rest| rest.split(['"', '#', '?']).next());
        values.filter(|link| !link.is_empty() && !link.starts_with('/') && !link.contains(':'))
    }

    /// A link of a page, from the root of the book.
    fn absolute(page: &str, link: &str) -> String {
        let mut parts: Vec<&str> = page.split('/').collect();
        parts.pop();
        for part in link.split('/') {
            match part {
                ".." => {
                    parts.pop();
                }
                "." => {}
                name => parts.push(name),
            }
        }
        parts.join("/")
    }

    #[test]
    fn every_link_of_the_book_leads_to_a_file_of_the_book() {
        let mut checked = 0;
        for page in FILES
            .iter()
            .filter(|file| file.media_type.starts_with("text/html"))
        {
            for link in links(std::str::from_utf8(page.bytes).unwrap()) {
                assert!(
                    file(&absolute(page.path, link)).is_some(),
                    "{}: {link}",
                    page.path
                );
                checked += 1;
            }
        }
        assert!(checked > 1000, "{checked}");
    }

    #[test]
    fn a_file_is_found_by_its_path_and_the_first_page_by_none() {
        assert_eq!(
            file("guides/limits.html").unwrap().media_type,
            "text/html; charset=utf-8"
        );
        assert_eq!(file("").unwrap().path, "index.html");
        assert!(file("guides").is_none());
        assert!(file("../Cargo.toml").is_none());
    }

    #[test]
    fn every_error_page_says_status_reasons_and_cures() {
        for code in Code::ALL {
            let (page, status) = (error_page(*code), code.status());
            assert!(
                page.starts_with(&format!("# {code}\n\nStatus {status}")),
                "{code}"
            );
            assert!(
                page.contains("## Why") && page.contains("## What to do"),
                "{code}"
            );
        }
    }
}
