"""`python -m hapax_webhooks …` runs the binary `hapax` that the package installs, as the command `hapax` does."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

NAME = "hapax.exe" if os.name == "nt" else "hapax"


def folders() -> Iterator[Path]:
    """Where installers put the scripts of a package, the usual place first."""
    yield Path(sysconfig.get_path("scripts"))
    yield Path(sysconfig.get_path("scripts", vars={"base": sys.base_prefix}))
    package = Path(__file__).resolve().parent
    # `pip install --prefix`: lib/python3.x/site-packages is three levels below.
    yield package.parents[3] / Path(sysconfig.get_path("scripts")).name
    # `pip install --target`.
    yield package.parent / "bin"
    yield Path(sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")))


def main() -> int:
    looked_in = list(folders())
    binary = next((folder / NAME for folder in looked_in if (folder / NAME).is_file()), None)
    if binary is None:
        places = "\n".join(f"  {folder}" for folder in looked_in)
        sys.stderr.write(
            f"The binary `{NAME}` is not installed. Looked in:\n{places}\nReinstall hapax-webhooks from a wheel.\n"
        )
        return 1
    if os.name == "nt":
        return subprocess.run([binary, *sys.argv[1:]], check=False).returncode
    os.execv(binary, [str(binary), *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
