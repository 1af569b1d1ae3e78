//! The model keeps the laws, however it treats leases when it restarts.

mod voids_leases {
    use hapax_store_laws::model::{MemorySubject, Restart};

    hapax_store_laws::laws!(MemorySubject::new(Restart::VoidsLeases));
}

mod keeps_leases {
    use hapax_store_laws::model::{MemorySubject, Restart};

    hapax_store_laws::laws!(MemorySubject::new(Restart::KeepsLeases));
}
