//! `[server.tls]`, `[server.admin_tls]`, `trusted_proxies` and `allow_from`.

use super::*;

const BOTH: &str = "[server.tls]\ncert = \"a.crt\"\nkey = \"a.key\"\n";

#[test]
fn one_table_is_for_both_ports_unless_the_admin_port_has_its_own_or_none() {
    let server = parsed(BOTH).server;
    assert!(server.tls.is_some() && server.tls == server.admin_tls);
    let server = parsed(&format!("[server]\nadmin_tls = false\n{BOTH}")).server;
    assert!(server.tls.is_some() && server.admin_tls.is_none());
    let own = format!("{BOTH}client_ca = \"c.crt\"\n[server.admin_tls]\ncert = \"b.crt\"\nkey = \"b.key\"\n");
    let server = parsed(&own).server;
    assert_eq!(server.tls.unwrap().client_ca, Some("c.crt".into()));
    assert_eq!(server.admin_tls.unwrap().cert, Path::new("b.crt"));
    let server = parsed("[server.admin_tls]\ncert = \"b.crt\"\nkey = \"b.key\"\n").server;
    assert!(server.tls.is_none() && server.admin_tls.is_some());
}

#[test]
fn a_certificate_without_its_key_is_refused() {
    let found = problems("[server.tls]\ncert = \"a.crt\"\n");
    assert!(
        matches!(found.as_slice(), [one] if one.contains("`key` is missing")),
        "{found:?}"
    );
    let found = problems("[server.tls]\ncert = \"a.crt\"\nkey = 7\nclientca = \"x\"\n");
    assert!(
        matches!(found.as_slice(), [_, one] if one.contains("did you mean `client_ca`?")),
        "{found:?}"
    );
}

#[test]
fn an_admin_port_in_plain_text_stays_on_this_machine() {
    let open = format!(
        "[server]\nadmin_listen = \"0.0.0.0:8081\"\nadmin_token = \"env:TOKEN\"\nadmin_tls = false\n{BOTH}"
    );
    let found = problems(&open);
    assert!(
        found
            .iter()
            .any(|one| one.contains("plain text") && one.contains("127.0.0.1")),
        "{found:?}"
    );
}

#[test]
fn a_trusted_proxy_is_a_network() {
    let found =
        problems("[server]\ntrusted_proxies = [\"10.0.0.0/8\", \"proxy.example.com\", \"10.0.0.1/8\"]\n");
    let [name, bits] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert!(
        name.contains("server.trusted_proxies.1") && name.contains("not an address range"),
        "{name}"
    );
    assert!(bits.contains("\"10.0.0.0/8\""), "{bits}");
}

fn allow_from(provider: &str, list: &str) -> Vec<String> {
    problems(&with_source(&format!(
        "provider = \"{provider}\"\nsecrets = [\"env:STRIPE_NEW\"]\nallow_from = {list}\n"
    )))
}

#[test]
fn an_allow_list_names_networks_or_those_of_the_provider() {
    assert_eq!(allow_from("stripe", "[\"provider\", \"2001:db8::/32\"]"), [""; 0]);
    for (provider, list, words) in [
        ("stripe", "[]", "would refuse every request"),
        ("stripe", "[\"stripe\"]", "not an address range"),
        ("shopify", "[\"provider\"]", "Shopify publishes no stable list"),
    ] {
        let found = allow_from(provider, list).join("\n");
        assert!(found.contains(words), "{found}");
    }
}
