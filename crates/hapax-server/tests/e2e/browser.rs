//! One module for each thing that people do with the dashboard.

mod accessible;
mod chromium;
mod doors;
mod journey;
mod keyboard;
mod outbox;
mod pictures;
mod plain;
mod safe;
mod sign_in;
mod site;
mod tail;
