//! Whether the configuration is valid, including its secrets, and whether the admin port is closed.

use std::path::Path;

use super::check::Check;
use hapax_config::{ADMIN_TOKEN_BYTES_MIN, Config, ConfigError};

pub(super) fn refused(path: &Path, error: &ConfigError) -> Vec<Check> {
    let name = "configuration";
    match error {
        ConfigError::Missing(_) => vec![Check::fail(
            name,
            format!("{} does not exist", path.display()),
            "create it with `hapax init`, or use another one with `-c FILE`; `hapax dev` needs none",
        )],
        // The error's own text has a line for each problem, with its position.
        other => vec![Check::fail(
            name,
            other.to_string(),
            format!("correct it, then run `hapax config check -c {}`", path.display()),
        )],
    }
}

pub(super) fn accepted(config: &Config) -> Vec<Check> {
    let summary = format!(
        "{}: {} sources, {} destinations",
        config.path.display(),
        config.sources.len(),
        config.destinations.len()
    );
    let mut checks = vec![Check::ok("configuration", summary)];
    let warnings = config.warning_lines().into_iter();
    checks.extend(
        warnings
            .map(|warning| Check::warn("configuration", warning, "`hapax config show` shows every value")),
    );
    if config.sources.is_empty() {
        let fix = "add a [sources.NAME] table; `hapax providers` lists the known providers";
        checks.push(Check::warn("sources", "none: nothing can be received", fix));
    }
    checks.push(admin_token(config));
    checks
}

fn admin_token(config: &Config) -> Check {
    let name = "admin token";
    match &config.server.admin_token {
        None => Check::warn(
            name,
            format!(
                "none: every user and program on this machine can use {}",
                config.server.admin_listen
            ),
            "admin_token = \"env:HAPAX_ADMIN_TOKEN\" under [server], with the output of `openssl rand -hex 32`",
        ),
        Some(token) if token.expose().len() < ADMIN_TOKEN_BYTES_MIN => Check::warn(
            name,
            format!("set, but shorter than {ADMIN_TOKEN_BYTES_MIN} characters: it can be guessed"),
            "replace it with the output of `openssl rand -hex 32`",
        ),
        Some(_) => Check::ok(name, "set"),
    }
}
