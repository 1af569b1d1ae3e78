//! Every law of the store's contract, on the model store behind keys.

use hapax_store_laws::SealedSubject;
use hapax_store_laws::model::{MemorySubject, Restart};

hapax_store_laws::laws!(SealedSubject::new(MemorySubject::new(Restart::VoidsLeases)));
