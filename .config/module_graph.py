"""Which modules of a crate use which, and where they do so in a circle.

It follows `use` trees and paths the way the compiler does, through re-exports too: a name counts for the module that
defines it. Comments, strings and code under `#[cfg(test)]` do not count. Only siblings can form a circle: a module and its
own children belong together. Calls of methods have no path and are not seen.
"""
import collections
import re

# Each alternative begins with a letter of its own, which makes the search fast.
NOISE = re.compile(r"""//[^\n]* | /\*.*?\*/ | r(?P<hash>\#*)".*?"(?P=hash) | "(?:[^"\\]|\\.)*" | '(?:\\[^\n]+?|[^'\\\n])'
    | pub\((?:crate|self|super|in[ ][\w:]+)\)""", re.S | re.X)
TEST = re.compile(r"#!?\[cfg\((?:all\()?test\b[^\]]*\]")
ATTRIBUTES = re.compile(r"(?:\s*#\[[^\]]*\])*\s*")
ITEM = re.compile(r"(?:pub\s+)?(?:async|const|enum|extern|fn|impl|let|macro_rules|mod|static|struct|trait|type|use)\b")
INLINE = re.compile(r"\bmod\s+(\w+)\s*\{")
USE = re.compile(r"\buse\s+([\w:{][^;]*);")
PATH = re.compile(r"(?<![\w:.'])[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)+")
DECLARED = re.compile(r"\b(?:const(?!\s+fn\b)|enum|fn|static|struct|trait|type|union)\s+(\w+)")
BRACE = re.compile(r"[{}]")
SPACE = re.compile(r"\s+")


def circles(files):
    r"""The circles of one crate, as text, from its files: path below `src` -> text.

    >>> def show(**files): print("\n".join(circles({f"{path.replace('__', '/')}.rs": text for path, text in files.items()})) or "none")

    A name counts for the module that defines it, wherever it is re-exported:
    >>> show(lib="mod a; mod b; pub use b::{inner::Thing as Other};", a="use crate::{\n  x::{y, z},\n  Other,\n};", b="mod inner;",
    ...      b__inner="fn f() -> crate::a::Error {}")
    modules in a circle: a, b
        a -> b: a.rs
        b -> a: b/inner.rs

    So do siblings in a folder, also where one names the other by way of an import or of their parent:
    >>> show(lib="mod top;", top="mod one; mod two; mod three; use two::Two;", top__one="use super::Two;",
    ...      top__two="use crate::top; fn f() { top::three::g(); }", top__three="fn g() { super::one::h() }")
    modules in a circle: top::one, top::three, top::two
        top::one -> top::two: top/one.rs
        top::three -> top::one: top/three.rs
        top::two -> top::three: top/two.rs

    Not a circle: parent and child, tests, comments, strings, visibility.
    >>> show(lib="mod a; mod b;", a="mod child; use crate::b::B; use child::C;", a__child="use super::A;",
    ...      b="// crate::a::A\n/* crate::a */ pub(in crate::a) fn f() { \"crate::a::A\"; '\"'; r#\"crate::a\"# }\n"
    ...        "#[cfg(test)]\nmod tests { use crate::a::A; }\n#[cfg(test)] use crate::a::{A, B};\n#[cfg(test)] mod more;",
    ...      b__more="use crate::a::A;")
    none
    """
    graph = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(set)))
    modules = read(files)
    for path, module in modules.items():
        for target in {target for written in module.paths() for target in resolve(modules, path, written)}:
            shared = next((n for n, (one, other) in enumerate(zip(path, target)) if one != other), None)
            if shared is not None:
                graph[path[:shared]][path[:shared + 1]][target[:shared + 1]].add(module.file)
    for _, edges in sorted(graph.items()):
        for circle in circular(edges):
            yield "\n".join([f"modules in a circle: {', '.join(map('::'.join, circle))}"] + [
                f"    {'::'.join(one)} -> {'::'.join(other)}: {', '.join(sorted(edges[one][other]))}"
                for one in circle for other in circle if other in edges[one]])


class Module:
    def __init__(self, file):
        self.file, self.text, self.children, self.imports, self.globs = file, "", set(), {}, []

    def paths(self):
        """The paths that it names: in its text, and in what it imports."""
        written = {tuple(SPACE.sub("", path).split("::")) for path in PATH.findall(self.text)}
        return written.union(self.globs, *self.imports.values())

    def has(self, name):
        return name in self.children or name in self.imports or name in DECLARED.findall(self.text)


def read(files):
    """The tree of modules without those of tests: path of names -> Module."""
    modules, left_out = {}, []
    for file in sorted(files, key=lambda file: (file.count("/"), file)):
        path = tuple(file.removesuffix(".rs").split("/"))
        path = () if path in [("lib",), ("main",)] else path
        if not any(path[:len(test)] == test for test in left_out):
            text, test_modules = without_tests(NOISE.sub(" ", files[file]))
            left_out += [(*path, test) for test in test_modules]
            add(modules, path, file, text)
    return modules


def add(modules, path, file, text):
    while inline := INLINE.search(text):
        end = closing(text, inline.end())
        add(modules, (*path, inline[1]), file, text[inline.end():end - 1])
        text = text[:inline.start()] + text[end:]
    module = modules.setdefault(path, Module(file))
    module.text += USE.sub(" ", text)
    for tree in USE.findall(text):
        for local, target in leaves(SPACE.sub(" ", tree)):
            if local == "*":
                module.globs.append(target)
            else:
                module.imports.setdefault(local, []).append(target)
    if path:
        modules.setdefault(path[:-1], Module(file)).children.add(path[-1])


def without_tests(text):
    """The text without items under `#[cfg(test)]`, and the names of the modules among them that have files."""
    kept, at, names = [], 0, []
    while found := TEST.search(text, at):
        kept.append(text[at:found.start()])
        if found[0].startswith("#!"):
            return "", names
        start = ATTRIBUTES.match(text, found.end()).end()
        item = ITEM.match(text, start)
        at = end_of(text, start, ";{" if item and not item[0].endswith("use") else ";" if item else ",};")
        names += re.findall(r"^(?:pub\s+)?mod (\w+);", text[start:at])
    return "".join(kept) + text[at:], names


def end_of(text, at, ends):
    """Behind the first of `ends` that is not in parentheses, and behind its block."""
    depth = 0
    for found in re.compile(r"[()\[\]{};,]").finditer(text, at):
        mark = found[0]
        if depth == 0 and mark in ends:
            return closing(text, found.end()) if mark == "{" else found.start() if mark == "}" else found.end()
        depth += (mark in "([{") - (mark in ")]}")
    return len(text)


def closing(text, at):
    """Behind the brace that closes the one before `at`."""
    depth = 1
    for brace in BRACE.finditer(text, at):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    return len(text)


def leaves(tree, before=()):
    """The names that a `use` tree brings in, each with its path."""
    head, brace, rest = tree.partition("{")
    path = (*before, *(part.strip() for part in head.split("::") if part.strip()))
    if brace:
        depth, start = 0, 0
        for at, mark in enumerate(rest):
            if depth == 0 and mark in ",}":
                if rest[start:at].strip():
                    yield from leaves(rest[start:at], path)
                start = at + 1
            depth += (mark == "{") - (mark == "}")
        return
    last, _, local = path[-1].partition(" as ")
    path = path[:-1] if last in ("self", "*") and path[:-1] else (*path[:-1], last)
    yield "*" if last == "*" else local or path[-1], path


def resolve(modules, path, names, seen=frozenset()):
    """The modules that define what a path in a module leads to; the module itself if that is local or another crate's."""
    at = path
    if names[0] == "crate":
        at, names = (), names[1:]
    while names and names[0] in ("self", "super"):
        at, names = at[:-1] if names[0] == "super" else at, names[1:]
    while names and names[0] in modules[at].children:
        at, names = (*at, names[0]), names[1:]
        if at not in modules:
            return [path]
    if not names or (at, names[0]) in seen:
        return [at]
    seen |= {(at, names[0])}
    found = [target for imported in modules[at].imports.get(names[0], ()) for target in resolve(modules, at, imported + names[1:], seen)]
    for source in {source for glob in modules[at].globs for source in resolve(modules, at, glob, seen)}:
        if not found and modules[source].has(names[0]):
            found = resolve(modules, source, ("self", *names), seen)
    return found or [at]


def circular(graph):
    """The sets of nodes that reach each other (Tarjan)."""
    order, lowest, stack, found = {}, {}, [], []

    def visit(node):
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in order:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], order[other])
        if lowest[node] == order[node]:
            circle = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(circle) > 1:
                found.append(sorted(circle))

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found
