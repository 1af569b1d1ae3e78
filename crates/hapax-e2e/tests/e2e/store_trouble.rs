//! Trouble with the store: locked, read-only, full, damaged, too new, misconfigured, not distributed, silent. It is
//! reported clearly, and nothing is lost.

mod damaged;
mod disk;
mod full;
mod read_only;
mod silent;
mod spread;
mod taken;
mod unsupported;
