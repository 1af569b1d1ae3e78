//! How much of a long test runs: all of it in `./test full`, a part in `./test`.

/// The number of property-test cases at which the long tests have their full size.
const CASES_FULL: usize = 48;

/// The share of `most` that `HAPAX_LAWS_CASES` asks for.
pub fn scaled(most: usize) -> usize {
    let given = std::env::var("HAPAX_LAWS_CASES").ok();
    let cases = given.map_or(CASES_FULL, |text| {
        text.parse().expect("HAPAX_LAWS_CASES is a number")
    });
    most * cases.min(CASES_FULL) / CASES_FULL
}
