#!/usr/bin/env python3
"""Checks that the map in ARCHITECTURE.md is the crate graph, and that no crate has modules in a circle.

    cargo metadata --format-version 1 --no-deps | map_check.py ARCHITECTURE.md

The page contains a block ```map … ```; each line is `crate -> crate crate …`. Lines go from the leaves to the binary: a
crate may name only crates above it, so the block itself shows that there is no cycle. Development dependencies are
left out. The modules are those below `src`, read by module_graph.py, whose own examples are checked first.
"""
import doctest, json, pathlib, re, sys
import module_graph
page = open(sys.argv[1]).read(); block = re.search(r'```map\n(.*?)```', page, re.S)
if not block: sys.exit(f'{sys.argv[1]} has no ```map block')
drawn, wrong = {}, []
for line in block.group(1).splitlines():
    if not line.strip(): continue
    crate, _, needs = line.partition('->'); crate = crate.strip(); drawn[crate] = set(needs.split())
    wrong += [f'{crate} needs {n}, which is not above it: a cycle, or the wrong order' for n in sorted(drawn[crate]) if n not in drawn or n == crate]
packages = json.load(sys.stdin)['packages']
ours = {p['name'] for p in packages if re.search('/(crates|bindings)/', p['manifest_path'])}
for p in packages:
    if p['name'] not in ours: continue
    real = {d['name'] for d in p['dependencies'] if d['kind'] is None and d['name'] in ours}
    if p['name'] not in drawn: wrong.append(f"{p['name']} is not on the map: {p['name']} -> {' '.join(sorted(real))}"); continue
    for n in sorted(real - drawn[p['name']]): wrong.append(f"{p['name']} depends on {n}, which the map does not show")
    for n in sorted(drawn[p['name']] - real): wrong.append(f"the map shows {p['name']} -> {n}, and there is no such dependency")
wrong += [f'{n} is on the map, and there is no such crate' for n in sorted(set(drawn) - ours)]
table = {name for row in re.findall(r'(?m)^\| (`hapax[^|]*`) \|', page) for name in re.findall(r'`([\w-]+)`', row)}
wrong += [f'{n} has no line in the table of crates' for n in sorted(ours - table)]
if doctest.testmod(module_graph).failed: wrong.append('module_graph.py does not do what its examples say')
for p in packages:
    if p['name'] not in ours: continue
    src = pathlib.Path(p['manifest_path']).parent / 'src'
    wrong += [f"{p['name']}: {circle}" for circle in module_graph.circles({file.relative_to(src).as_posix(): file.read_text() for file in src.rglob('*.rs')})]
print('\n'.join(wrong)); sys.exit(bool(wrong))
