# Shortcuts to the parts of ./test.

default:
    @just --list

# Everything CI runs
test:
    ./test

# For the inner loop: format, lint, unit tests, the laws on SQLite
quick:
    ./test quick

# The long runs, too
full:
    ./test full

# Everything that can break, broken on purpose: `just faults 200` kills more
faults kills="50":
    HAPAX_FAULT_KILLS={{kills}} ./test faults

# Processes of the previous release give way to this version under load
upgrade:
    ./test upgrade

lint:
    ./test fmt clippy typos

unit:
    ./test unit

# Every law on a Citus cluster that is started for it, given a PostgreSQL that has Citus
citus:
    crates/hapax-store-postgres/tests/citus/cluster run cargo nextest run --workspace --test citus

# The simulator: `just sim 100000` runs that many seeds
sim SEEDS="300":
    ./test build && target/debug/hapax-sim --seeds 0..{{SEEDS}}

# Requests made of torn vectors: `just fuzz 1000000` tries that many for each claim
fuzz CASES="100000":
    HAPAX_FUZZ_CASES={{CASES}} ./test fuzz

# Write the reference pages that the binary prints
reference:
    ./test build
    for page in api cli config errors metrics providers query; do target/debug/hapax reference $page > docs/reference/$page.md; done
    target/debug/hapax print openapi > docs/reference/openapi.json

# The bill of materials, pinned container bases, advisories: what a release needs besides the binary
release *part:
    ./release {{part}}

demo:
    cargo run --release -- demo

bench:
    cargo run --profile dist -- bench

# Mixed load and random faults for a while: nothing lost, nothing doubled, flat memory
soak duration="30m" *options:
    cargo run --release -- soak --for {{duration}} {{options}}
