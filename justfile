# Shortcuts to the parts of ./test.

default:
    @just --list

# Everything CI runs
test:
    ./test

# The long runs, too
full:
    ./test full

lint:
    ./test fmt clippy typos

unit:
    ./test unit

# The simulator: `just sim 100000` runs that many seeds
sim SEEDS="300":
    cargo run --quiet -p hapax-sim -- --seeds 0..{{SEEDS}}

# Write the reference pages that the binary prints
reference:
    cargo build --quiet
    for page in cli config errors; do target/debug/hapax reference $page > docs/reference/$page.md; done

demo:
    cargo run --release -- demo

bench:
    cargo run --release -- bench
