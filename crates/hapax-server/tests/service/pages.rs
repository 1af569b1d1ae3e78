//! The pages of the dashboard, as a browser without JavaScript gets them from a real service. Every event is delivered
//! twice.

mod dead;
mod desk;
mod duplicates;
mod event;
mod exports;
mod overview;
mod places;
mod roles;
