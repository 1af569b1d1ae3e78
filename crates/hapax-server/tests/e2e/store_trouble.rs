//! Trouble with the store's file: taken, read-only, full, damaged, too new. It is said clearly, and nothing is lost.

mod damaged;
mod disk;
mod full;
mod read_only;
mod taken;
