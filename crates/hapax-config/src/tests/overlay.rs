//! Overrides of the file by the environment and by flags.

use super::*;

fn with(variables: &[(&str, &str)], flags: &[Flag]) -> Result<Config, ConfigError> {
    let environment = Environment::with(variables.iter().copied());
    let text = "[server]\nlisten = \"127.0.0.1:1\"\nbody_limit = \"1MiB\"\n";
    parse(text, Path::new("hapax.toml"), &environment, flags)
}

fn listen(value: &str) -> Flag {
    Flag {
        flag: "--listen",
        path: "server.listen",
        value: value.to_owned(),
    }
}

#[test]
fn flags_win_over_the_environment_and_the_environment_over_the_file() {
    let variables = [
        ("HAPAX_SERVER__LISTEN", "127.0.0.1:2"),
        ("HAPAX_STORE__URL", "sqlite:other.db"),
    ];
    let config = with(&variables, &[]).unwrap();
    assert_eq!(config.server.listen.port(), 2);
    assert_eq!(config.server.body_limit, 1 << 20);
    assert_eq!(config.store.url.to_string(), "sqlite:other.db");
    assert!(
        config
            .to_toml()
            .contains("listen = \"127.0.0.1:2\" # HAPAX_SERVER__LISTEN\n")
    );
    let config = with(&variables, &[listen("127.0.0.1:3")]).unwrap();
    assert_eq!(config.server.listen.port(), 3);
    assert!(config.to_toml().contains("listen = \"127.0.0.1:3\" # --listen\n"));
}

#[test]
fn a_secret_named_in_the_environment_is_resolved_there() {
    let config = with(
        &[("HAPAX_SERVER__ADMIN_TOKEN", "env:OTHER"), ("OTHER", "hunter2")],
        &[],
    )
    .unwrap();
    assert_eq!(config.server.admin_token.unwrap().expose(), "hunter2");
}

#[test]
fn what_is_wrong_in_a_variable_or_flag_names_it() {
    let variables = [
        ("HAPAX_SERVER__BODY_LIMIT", "5"),
        ("HAPAX_SERVER__LISEN", "x"),
        ("HAPAX_SOURCES__STRIPE__PROVIDER", "stripe"),
        ("HAPAX_STRIPE__SECRET", "not a key, and not ours"),
    ];
    assert_eq!(
        lines(&with(&variables, &[listen("nowhere")]).unwrap_err()),
        [
            "environment variable HAPAX_SERVER__BODY_LIMIT: server.body_limit: \"5\" is not a size: write a number and B, \
             KB, KiB, MB, MiB, GB or GiB, such as \"5MiB\"",
            "environment variable HAPAX_SERVER__LISEN: [server] has no key `lisen`; did you mean `listen`?",
            "environment variable HAPAX_SOURCES__STRIPE__PROVIDER: only [server] and [store] can be set by variables; name \
             secrets with \"env:NAME\" in the file",
            "flag --listen: server.listen: \"nowhere\" is not an address: write IP and port, such as \"127.0.0.1:8080\" or \
             \"0.0.0.0:8080\"",
        ]
    );
}
