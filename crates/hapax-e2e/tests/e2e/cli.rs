//! The command line against a running service: what it prints, in which shape, and how it ends.

mod alone;
mod batches;
mod catalogue;
mod conventions;
mod duplicates;
mod events;
mod operate;
mod parity;
mod proof;
mod replay;
mod send;
mod twice;
mod verify;
