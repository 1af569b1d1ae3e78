//! Ports for services: free now, and free again after a restart.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

/// Below the range from which the kernel picks ports for outgoing connections: a connection of some test must not take
/// the port of a service that is being restarted.
const PORTS: std::ops::Range<u16> = 12_000..32_000;

/// An address on loopback that no one listens on.
pub fn free_address() -> SocketAddr {
    loop {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, fastrand::u16(PORTS)));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}

/// Two of them, for one service.
pub fn two_free_addresses() -> [SocketAddr; 2] {
    let first = free_address();
    loop {
        let second = free_address();
        if second != first {
            return [first, second];
        }
    }
}
