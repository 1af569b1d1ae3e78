//! `[server.limits]`.

use super::*;

#[test]
fn limits_are_read_and_shown() {
    let config = parsed(
        "[server.limits]\nconnections_per_peer = 100\nhead_bytes = \"32KiB\"\nbody_rate_min = \"2KiB\"\n\
         refusals_per_peer = \"10/s\"\n",
    );
    let limits = config.server.limits;
    assert_eq!(limits.listen.peer_connections_max, 100);
    assert_eq!(limits.listen.head_bytes_max, 32 << 10);
    assert_eq!(limits.ingest.body_rate_min, 2048);
    assert_eq!(limits.ingest.peer_refusals.count, 10);
    let shown = config.to_toml();
    for line in [
        "[server.limits]\nconnections = 16384 # default\nconnections_per_peer = 100 # line 2\n",
        "head_bytes = \"32KiB\" # line 3\nhead_timeout = \"10s\" # default\n",
        "unproven_bytes = \"128MiB\" # default\nunproven_bytes_per_peer = \"64MiB\" # default\n",
        "refusals_per_peer = \"10/s\" # line 5\n",
    ] {
        assert!(shown.contains(line), "{line:?} is not in {shown}");
    }
}

#[test]
fn a_limit_out_of_its_range_is_refused_with_the_range() {
    let text =
        "[server.limits]\nconnections = 1\nhead_bytes = \"1KiB\"\nbody_timeout = \"1h\"\nhead_byte = 1\n";
    let found = problems(text);
    for part in [
        "server.limits.connections: 1 is not between 16 and 1000000",
        "server.limits.head_bytes: \"1KiB\" is not between 8KiB and 256KiB",
        "server.limits.body_timeout: \"1h\" is not between 1s and 10m",
        "[server.limits] has no key `head_byte`; did you mean `head_bytes`?",
    ] {
        assert!(found.iter().any(|line| line.contains(part)), "{part}: {found:?}");
    }
}

#[test]
fn the_largest_body_has_to_find_room() {
    let text = "[server]\nbody_limit = \"8MiB\"\n[server.limits]\nunproven_bytes = ";
    let found = problems(&format!("{text}\"8MiB\"\n"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("server.body_limit: [server.limits] only has room for bodies of 4MiB"),
        "{found:?}"
    );
    assert!(problems(&format!("{text}\"16MiB\"\n")).is_empty());
}
