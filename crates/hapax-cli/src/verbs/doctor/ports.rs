//! Whether the service can listen, or already does.

use std::io::ErrorKind;
use std::net::SocketAddr;

use tokio::net::TcpListener;

use super::check::Check;
use super::service::Service;
use hapax_config::Config;

pub(super) async fn check(config: &Config, service: &Service) -> Vec<Check> {
    let ports = [
        ("listen", config.server.listen),
        ("admin_listen", config.server.admin_listen),
    ];
    let mut checks = Vec::new();
    for (key, address) in ports {
        checks.push(port(key, address, service).await);
    }
    checks
}

async fn port(key: &str, address: SocketAddr, service: &Service) -> Check {
    let name = format!("port {address}");
    let elsewhere = format!(
        "stop the program that listens there (`ss -ltnp 'sport = :{}'`), or change server.{key}",
        address.port()
    );
    match TcpListener::bind(address).await {
        Ok(_) => Check::ok(name, "free"),
        Err(error) if error.kind() == ErrorKind::AddrInUse => match service {
            Service::Running(_) => Check::ok(name, "in use by the running service"),
            Service::Absent => Check::fail(name, "in use by another program", elsewhere),
            Service::Strange(message) => Check::fail(name, format!("taken; {message}"), elsewhere),
        },
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Check::fail(
            name,
            "this user is not allowed to listen there",
            format!(
                "use a port above 1023 for server.{key}, or `setcap cap_net_bind_service=+ep $(which hapax)`"
            ),
        ),
        Err(error) if error.kind() == ErrorKind::AddrNotAvailable => Check::fail(
            name,
            "this machine does not have that address",
            format!("correct server.{key}"),
        ),
        Err(error) => Check::fail(name, error.to_string(), format!("correct server.{key}")),
    }
}
