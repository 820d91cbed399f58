"""Scripts that asv's page fetches from other hosts, put beside it: what is measured asks no other machine.

They are npm's packages of the versions that asv's page names, with two exceptions, which asv takes from a host that has
what npm has not: flot, which npm has as it was written, not minified, and stupidtable, of which npm has the next
version. So the page's checks of their hashes are taken out, and its bytes are a little more than from those hosts.
"""

from __future__ import annotations

import re
import subprocess
import tarfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PACKAGES = {  # by the name of the file that asv's page asks for
    "jquery-3.3.1.min.js": ("jquery@3.3.1", "dist/jquery.min.js"),
    "jquery.flot.min.js": ("flot@0.8.3", "jquery.flot.js"),
    "jquery.flot.time.min.js": ("flot@0.8.3", "jquery.flot.time.js"),
    "jquery.flot.selection.min.js": ("flot@0.8.3", "jquery.flot.selection.js"),
    "jquery.flot.categories.min.js": ("flot@0.8.3", "jquery.flot.categories.js"),
    "jquery.flot.orderBars.js": ("flot-orderbars@1.0.0", "js/jquery.flot.orderBars.js"),
    "stupidtable.min.js": ("stupid-table-plugin@1.1.3", "stupidtable.min.js"),
    "md5.min.js": ("blueimp-md5@2.19.0", "js/md5.min.js"),
    "bootstrap.min.js": ("bootstrap@3.1.1", "dist/js/bootstrap.min.js"),
    "bootstrap.min.css": ("bootstrap@3.1.1", "dist/css/bootstrap.min.css"),
}
ELSEWHERE = re.compile(r'(?P<names>src|href)="https://[^"]*/(?P<file>[^"/]+\.(?:js|css))"')
CHECKS = re.compile(r' (?:integrity|crossorigin|referrerpolicy)="[^"]*"')


class LibraryMissingError(Exception):
    """asv's page cannot be completed here: what it lacks, in words."""


def place_libraries(pages: Path, *, kept: Path) -> None:
    """Let asv's `pages` load their libraries from beside themselves. kept: folder of what was fetched from npm.

    Raises: LibraryMissingError if npm has not all of them, or if the page asks for others than are known here.
    """
    index = pages / "index.html"
    text = index.read_text()
    asked = {found["file"] for found in ELSEWHERE.finditer(text)}
    if unknown := sorted(asked - PACKAGES.keys()):
        raise LibraryMissingError(f"asv's page asks for {', '.join(unknown)}, which no package here stands for")
    for file in asked:
        package, member = PACKAGES[file]
        (pages / file).write_bytes(_member_of(package, member, kept=kept))
    index.write_text(CHECKS.sub("", ELSEWHERE.sub(r'\g<names>="\g<file>"', text)))


def _member_of(package: str, member: str, *, kept: Path) -> bytes:
    archive = kept / f"{package.replace('@', '-')}.tgz"
    if not archive.exists():
        kept.mkdir(parents=True, exist_ok=True)
        try:
            subprocess.run(["npm", "pack", "--silent", package], cwd=kept, capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise LibraryMissingError(f"asv's page needs {package}, which npm did not fetch") from error
    with tarfile.open(archive) as packed:
        found = packed.extractfile(f"package/{member}")
        assert found is not None  # noqa: S101 - the members named above are files
        return found.read()
