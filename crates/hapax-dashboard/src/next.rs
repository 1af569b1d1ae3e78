//! The page after a login: the one that was requested, and never another site.

use hapax_api::path::Parameters;
use http::{Method, Uri};

/// Maximum length of a path to return to.
const NEXT_BYTES_MAX: usize = 4_096;

/// The URL of the login that returns to this page.
pub(super) fn login(uri: &Uri, method: &Method) -> String {
    let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    // The contents of a form are lost, and its URL often has no page.
    if !method.is_safe() || path == "/" {
        return "/login".to_owned();
    }
    Parameters::default().with("next", Some(path)).on("/login")
}

/// The path if it is on this site, otherwise the first page. `//evil.example` and `/\evil.example` are other sites.
pub(crate) fn local(path: &str) -> &str {
    let is_plain = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let is_local = path.starts_with('/') && !path.starts_with("//");
    if is_plain && is_local && path.len() <= NEXT_BYTES_MAX {
        return path;
    }
    "/"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_site_are_gone_to() {
        for path in ["/", "/events?q=status%3Adead", "/events/1#payload"] {
            assert_eq!(local(path), path);
        }
        for path in [
            "",
            "events",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/\t/evil.example",
            "/a\nset-cookie: x",
        ] {
            assert_eq!(local(path), "/", "{path}");
        }
    }

    #[test]
    fn a_login_comes_back_to_a_page_and_not_to_the_target_of_a_form() {
        let uri = "/events?q=a%20b&x=1".parse().unwrap();
        assert_eq!(
            login(&uri, &Method::GET),
            "/login?next=%2Fevents%3Fq%3Da%2520b%26x%3D1"
        );
        assert_eq!(login(&uri, &Method::POST), "/login");
    }
}
