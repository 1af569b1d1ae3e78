#!/usr/bin/env python3
"""Every link of every page leads somewhere, every page of docs/ is in the book, and every snippet of shell is shell.

Tests check what snippets mean: those of hapax-cli read every `hapax` command and every hapax.toml, and e2e `guides` runs
the commands of the README and of the first guide.
"""
import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^ *```(\w*).*?\n(.*?)^ *```", re.M | re.S)
problems = []


def files(*patterns):
    found = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *patterns], cwd=ROOT, text=True, capture_output=True, check=True)
    return [ROOT / name for name in sorted(set(found.stdout.split("\n"))) if name and (ROOT / name).is_file()]


@functools.cache
def anchors(path):
    """The headings of a page as its renderers name them: words in small letters, joined by dashes, numbered where they repeat."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", path.read_text()), re.M):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = base = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        number = 0
        while name in found:
            number += 1
            name = f"{base}-{number}"
        found.add(name)
    return found


def check_links(path, text):
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists():
            problems.append(f"{path.relative_to(ROOT)}: {link} is not there")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            problems.append(f"{path.relative_to(ROOT)}: {link}: no such heading")


def check_shell(path, text):
    for language, block in FENCE.findall(text):
        if language == "sh":
            read = subprocess.run(["bash", "-n"], input=block, text=True, capture_output=True)
            if read.returncode:
                problems.append(f"{path.relative_to(ROOT)}: {read.stderr.strip()}\n{block}")


def check_book():
    docs = ROOT / "docs"
    listed = set(re.findall(r"\]\(([^)]+\.md)\)", (docs / "SUMMARY.md").read_text()))
    there = {str(page.relative_to(docs)) for page in files("docs/*.md")} - {"SUMMARY.md"}
    problems.extend(f"docs/{name} is not in docs/SUMMARY.md" for name in sorted(there - listed))


def check_decisions():
    """Every decision is listed under its title, in the book and in ARCHITECTURE.md."""
    for name in ("ARCHITECTURE.md", "docs/SUMMARY.md"):
        listed = (ROOT / name).read_text().split("\n")
        for page in files("docs/adr/*.md"):
            title = page.read_text().partition("\n")[0].removeprefix("# ")
            line = f"- [{title}]({page.relative_to((ROOT / name).parent)})"
            if line not in listed:
                problems.append(f"{name} does not have this line: {line}")


def check_sources():
    """Pages that messages and comments name."""
    for path in files("crates/*.rs"):
        for name in re.findall(r"\bdocs/[\w/-]+\.md\b", path.read_text()):
            if not (ROOT / name).exists():
                problems.append(f"{path.relative_to(ROOT)} names {name}, which is not there")


for page in files("*.md"):
    check_links(page, page.read_text())
    check_shell(page, page.read_text())
check_book()
check_decisions()
check_sources()
sys.exit("\n".join(problems) or 0)
