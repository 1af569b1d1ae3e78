#!/usr/bin/env python3
"""Nothing that CI compiles with the oldest Rust we support has a dependency that asks for a newer one.

The job `msrv` in ci.yml names each version and what is compiled with it; this reads the same lines, and needs no other toolchain.
"""
import json, pathlib, re, subprocess, sys

def cargo(*arguments):
    return subprocess.run(["cargo", *arguments, "--locked"], check=True, text=True, stdout=subprocess.PIPE).stdout

def version(text):
    return tuple(int(part) for part in text.split(".")[:2])

packages = json.loads(cargo("metadata", "--format-version", "1"))["packages"]
asks = {(package["name"], package["version"]): package["rust_version"] for package in packages}
declared = re.search(r'^rust-version = "(.*)"', pathlib.Path("Cargo.toml").read_text(), re.M)[1]
jobs = re.findall(r'- rust: "(.*)"\n +what: "(.*)"', pathlib.Path(".github/workflows/ci.yml").read_text())
wrong = []
if min((rust for rust, _ in jobs), key=version, default=None) != declared:
    wrong.append(f"CI's oldest Rust is not {declared}, the rust-version of Cargo.toml")
for rust, what in jobs:
    tree = cargo("tree", "--edges", "normal,build", "--prefix", "none", "--format", "{p}", *what.split())
    for name, found in {tuple(line.split()[:2]) for line in tree.splitlines() if line}:
        needs = asks[name, found.removeprefix("v")]
        if needs and version(needs) > version(rust):
            wrong.append(f"{what}: {name} {found} needs Rust {needs}, and {rust} is promised")
    for name in re.findall(r"-p (\S+)", what):
        readme = pathlib.Path("crates", name, "README.md")
        if readme.exists() and f"Rust {rust}" not in readme.read_text():
            wrong.append(f"{readme} does not say Rust {rust}, which CI compiles with: {what}")
sys.exit("\n".join(sorted(wrong)) or None)
