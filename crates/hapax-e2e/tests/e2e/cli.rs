//! The command line against a running service: its output, the output's format, and its exit codes.

mod alone;
mod batches;
mod catalogue;
mod conventions;
mod duplicates;
mod events;
mod growth;
mod operate;
mod parity;
mod proof;
mod replay;
mod send;
mod twice;
mod verify;
