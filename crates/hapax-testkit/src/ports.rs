//! Ports for services: free now, and free again after a restart.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

/// Below the range from which the kernel picks ports for outgoing connections: no test's connection may take the port
/// of a service that is restarting.
const PORTS: std::ops::Range<u16> = 12_000..32_000;

/// A loopback address that nothing listens on.
pub fn free_address() -> SocketAddr {
    loop {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, fastrand::u16(PORTS)));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}

pub fn two_free_addresses() -> [SocketAddr; 2] {
    let first = free_address();
    loop {
        let second = free_address();
        if second != first {
            return [first, second];
        }
    }
}
