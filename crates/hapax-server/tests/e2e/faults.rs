//! One world, many faults: senders, a destination over HTTP and one in a database, and whatever breaks between them.
//!
//! ```text
//! load ──► replicas ──► sink, books        each fault is a test: break, fix, settle, and let the checker judge
//!   └─────── history ◄─────┘               the checker reads the history and nothing else
//! ```

mod books;
mod checker;
mod clock;
mod destinations;
mod freezes;
mod history;
mod kills;
mod limits;
mod link;
mod load;
mod points;
mod redis;
mod release;
mod report;
mod servers;
mod stores;
mod torture;
mod upgrade;
mod wires;
mod world;
