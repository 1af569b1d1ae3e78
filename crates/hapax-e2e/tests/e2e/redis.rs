//! The service on a store on Redis: one server, a cluster, and those that it refuses.

mod refused;
mod served;
mod waiting;
