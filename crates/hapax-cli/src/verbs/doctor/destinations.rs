//! Whether destinations can be reached. Nothing is sent: a connection is opened and closed.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Uri;
use tokio::net::{TcpStream, lookup_host};

use super::check::Check;
use hapax_config::address::is_forbidden;
use hapax_config::{Config, Environment, Kind, Sql, SqlUrl};
use hapax_delivery::destination::sql::{probe_postgres, probe_sqlite};

/// A destination that does not answer within this time is unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) async fn check(config: &Config) -> Vec<Check> {
    let mut checks = Vec::new();
    for (name, destination) in &config.destinations {
        let check_name = format!("destination {name}");
        checks.push(match &destination.kind {
            Kind::Http { url, .. } => http(check_name, url).await,
            Kind::Command { argv, .. } => command(check_name, argv.first().map_or("", String::as_str)),
            Kind::Sql(target) => sql(check_name, target).await,
        });
    }
    checks
}

async fn http(name: String, url: &Uri) -> Check {
    let host = url.host().unwrap_or_default();
    let port = url.port_u16().unwrap_or(if url.scheme_str() == Some("https") {
        443
    } else {
        80
    });
    let shown = format!("{host}:{port}");
    let fix = format!(
        "start the server that should listen on {shown}, or correct the url; until then, events wait; nothing is lost"
    );
    match tokio::time::timeout(CONNECT_TIMEOUT, connect(host, port)).await {
        Ok(Ok(address)) => Check::ok(name, format!("{address} answers")),
        Ok(Err(problem)) => Check::fail(name, format!("{shown}: {problem}"), fix),
        Err(_) => Check::fail(
            name,
            format!("{shown} does not answer within {} s", CONNECT_TIMEOUT.as_secs()),
            fix,
        ),
    }
}

async fn connect(host: &str, port: u16) -> Result<SocketAddr, String> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let addresses = lookup_host((bare, port))
        .await
        .map_err(|error| format!("the name does not resolve: {error}"))?;
    let mut problem = "the name has no address".to_owned();
    for address in addresses {
        if let Some(why) = is_forbidden(address.ip()) {
            problem = format!("{address} is not an allowed target: {why}");
            continue;
        }
        match TcpStream::connect(address).await {
            Ok(_) => return Ok(address),
            Err(error) => problem = format!("{address}: {error}"),
        }
    }
    Err(problem)
}

fn command(name: String, program: &str) -> Check {
    match find(program) {
        Some(path) => Check::ok(name, format!("{} can be run", path.display())),
        None => Check::fail(
            name,
            format!("`{program}` is not a program that this user can run"),
            format!("correct its command, or `chmod +x {program}`"),
        ),
    }
}

/// Connects, and lets the database check the statements without running them.
async fn sql(name: String, sql: &Sql) -> Check {
    let shown = sql.url.to_string();
    let found = match &sql.url {
        SqlUrl::Postgres(url) => probe_postgres(sql, url).await,
        SqlUrl::Sqlite(path) => {
            let (sql, path) = (sql.clone(), path.clone());
            let probed = tokio::task::spawn_blocking(move || probe_sqlite(&sql, &path)).await;
            probed.unwrap_or_else(|error| Err(error.to_string()))
        }
    };
    match found {
        Ok(()) => Check::ok(name, format!("{shown} is reachable and accepts the statements")),
        Err(problem) => Check::fail(
            name,
            format!("{shown}: {problem}"),
            "correct its url, its statements or the database; until then, events wait or become dead letters; nothing \
             is lost",
        ),
    }
}

/// The program as the system would find it.
fn find(program: &str) -> Option<PathBuf> {
    let runs = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| runs(path));
    }
    let environment = Environment::of_process();
    std::env::split_paths(environment.value("PATH")?)
        .map(|folder| folder.join(program))
        .find(|path| runs(path))
}

#[cfg(test)]
mod tests {
    use super::super::check::Outcome;
    use super::*;

    #[tokio::test]
    async fn a_listening_destination_is_reachable_and_a_closed_one_is_not() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: Uri = format!("http://{}/hook", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        assert_eq!(http("open".to_owned(), &url).await.outcome, Outcome::Ok);
        drop(listener);
        let closed = http("closed".to_owned(), &url).await;
        assert_eq!(closed.outcome, Outcome::Fail);
        assert!(closed.fix.unwrap().contains("nothing is lost"));
    }

    #[test]
    fn a_program_is_found_by_path_and_by_name() {
        assert!(find("sh").is_some());
        assert!(find("/bin/sh").is_some());
        assert!(find("./no-such-program").is_none());
        assert!(find("no-such-program-anywhere").is_none());
    }
}
