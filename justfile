# Shortcuts to the parts of ./test.

default:
    @just --list

# Everything CI runs
test:
    ./test

# For the inner loop: format, lint, unit tests, the laws on SQLite
quick:
    ./test quick

# Everything, including the long runs
full:
    ./test full

# Everything that can break, broken on purpose: `just faults 200` kills more
faults kills="50":
    HAPAX_FAULT_KILLS={{kills}} ./test faults

# Replace processes of the previous release by this version under load
upgrade:
    ./test upgrade

lint:
    ./test fmt clippy typos

unit:
    ./test unit

# Every law on a temporary Citus cluster; needs a PostgreSQL with Citus
citus:
    crates/hapax-store-postgres/tests/citus/cluster run ./test only 'binary(=citus)'

# The simulator: `just sim 100000` runs that many seeds
sim SEEDS="300":
    ./test build && target/debug/hapax-sim --seeds 0..{{SEEDS}}

# Requests made from mutated vectors: `just fuzz 1000000` tries that many for each claim
fuzz CASES="100000":
    HAPAX_FUZZ_CASES={{CASES}} ./test fuzz

# Write the reference pages that the binary prints
reference:
    ./test build
    for page in api cli config errors metrics providers query; do target/debug/hapax reference $page > docs/reference/$page.md; done
    target/debug/hapax print openapi > docs/reference/openapi.json

# What a release needs in addition to the binary: the bill of materials, pinned base images, advisories
release *part:
    ./release {{part}}

demo:
    cargo run --release -- demo

bench:
    cargo run --profile dist -- bench

# Mixed load and random faults for a while: nothing lost, nothing doubled, flat memory
soak duration="30m" *options:
    cargo run --release -- soak --for {{duration}} {{options}}
