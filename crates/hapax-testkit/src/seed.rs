//! Reproducible randomness.

/// Random, printed, and repeatable with `HAPAX_E2E_SEED`.
pub fn seed() -> u64 {
    let given = std::env::var("HAPAX_E2E_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("seed: HAPAX_E2E_SEED={seed}");
    seed
}
