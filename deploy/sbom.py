"""The bill of materials of the binary as CycloneDX, from `cargo metadata` on stdin.

Lists the crates that are linked into `hapax`, without those that only tests or build scripts use.
"""

import json
import pathlib
import sys
import tomllib
import uuid

ROOT = "hapax-cli"

metadata = json.load(sys.stdin)
packages = {package["id"]: package for package in metadata["packages"]}
nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
lock_text = pathlib.Path("Cargo.lock").read_text()
locked = tomllib.loads(lock_text)["package"]
checksums = {(entry["name"], entry["version"]): entry.get("checksum") for entry in locked}


def linked(node):
    return [
        dependency["pkg"]
        for dependency in node["deps"]
        if any(kind["kind"] is None for kind in dependency["dep_kinds"])
    ]


root = next(id for id, package in packages.items() if package["name"] == ROOT)
found, waiting = {root}, [root]
while waiting:
    fresh = [id for id in linked(nodes[waiting.pop()]) if id not in found]
    found.update(fresh)
    waiting.extend(fresh)


def reference(id):
    return f"pkg:cargo/{packages[id]['name']}@{packages[id]['version']}"


def component(id, kind):
    package = packages[id]
    entry = {
        "type": kind,
        "bom-ref": reference(id),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(id),
    }
    if package["license"]:
        # Older crates write `/` instead of SPDX's `OR`.
        expression = " OR ".join(part.strip() for part in package["license"].split("/"))
        entry["licenses"] = [{"expression": expression}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


order = sorted(found, key=reference)
document = {
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    # The same lock file yields the same document.
    "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, lock_text)}",
    "version": 1,
    "metadata": {"component": component(root, "application")},
    "components": [component(id, "library") for id in order if id != root],
    "dependencies": [
        {
            "ref": reference(id),
            "dependsOn": sorted({reference(other) for other in linked(nodes[id]) if other in found}),
        }
        for id in order
    ],
}
json.dump(document, sys.stdout, indent=1)
print()
