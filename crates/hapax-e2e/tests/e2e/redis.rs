//! The service with a store on Redis: one server, a cluster, and servers that it refuses.

mod refused;
mod served;
mod waiting;
