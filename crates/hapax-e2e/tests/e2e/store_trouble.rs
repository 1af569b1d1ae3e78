//! Trouble with the store: taken, read-only, full, damaged, too new, not as needed, not spread, silent. It is said clearly, and nothing is
//! lost.

mod damaged;
mod disk;
mod full;
mod read_only;
mod silent;
mod spread;
mod taken;
mod unsupported;
