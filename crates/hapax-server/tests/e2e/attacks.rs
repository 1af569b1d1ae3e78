//! One file for each kind of attack.

mod report;
