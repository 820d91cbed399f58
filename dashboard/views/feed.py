"""Feed of the findings that are listed, as Atom (RFC 4287)."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from dashboard.finding_words import change_of, machine_of, range_of, since_of, title_of
from results.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.changes.ranked import RankedFinding

ATOM = "http://www.w3.org/2005/Atom"
NAMESPACE = uuid.UUID("5f0c0c52-6d0b-5c8e-9d53-5a1e0b8f3a61")  # of the ids of this feed's entries
MOST_ENTRIES = 50
NO_DATE = datetime(1970, 1, 1, tzinfo=UTC)


def atom_from(found: Sequence[RankedFinding], *, base: str, query: str, names_project: bool = False) -> bytes:
    """Write the newest findings as a feed. base: this dashboard's address, `http://host/`; query: what chose them.

    names_project: where they may be of several.
    The id of an entry is the finding's own, whatever host serves it, so that a reader knows it again.
    """
    ET.register_namespace("", ATOM)
    page = f"{base}regressions"
    feed = ET.Element(f"{{{ATOM}}}feed")
    newest = sorted(found, key=_date_of, reverse=True)[:MOST_ENTRIES]
    _text(feed, "title", "fusebench: what got slower")
    _text(feed, "id", _id_of(f"feed{query}"))
    _text(feed, "updated", max(map(_date_of, newest), default=NO_DATE).isoformat())
    _text(ET.SubElement(feed, f"{{{ATOM}}}author"), "name", "fusebench")
    _link(feed, "self", f"{base}regressions.xml{query}")
    _link(feed, "alternate", f"{page}{query}")
    for one in newest:
        entry = ET.SubElement(feed, f"{{{ATOM}}}entry")
        finding = one.finding
        where = machine_of(finding, names_project=names_project)
        _text(entry, "title", f"{change_of(finding)} {title_of(finding)} on {where}")
        _text(entry, "id", _id_of(one.uid))
        _text(entry, "updated", _date_of(one).isoformat())
        _link(entry, "alternate", f"{page}?finding={one.uid}")
        _text(entry, "summary", _summary_of(one))
    ET.indent(feed)
    content: bytes = ET.tostring(feed, encoding="utf-8", xml_declaration=True)
    return content


def _summary_of(found: RankedFinding) -> str:
    finding = found.finding
    points = f"{len(finding.points):,} of {counted(finding.n_points, 'point')}; " if finding.points else ""
    why = f"; {finding.why}" if finding.why else ""
    return f"{points}{range_of(finding)}, since {since_of(found)}; {finding.state}{why}"


def _date_of(found: RankedFinding) -> datetime:
    """Return when the first bad commit was made, else measured."""
    run = found.first_bad
    return (run and (run.commit_date or run.measured_at)) or NO_DATE


def _id_of(name: str) -> str:
    return f"urn:uuid:{uuid.uuid5(NAMESPACE, name)}"


def _text(parent: ET.Element, name: str, text: str) -> None:
    # What XML cannot hold is no part of a name or a reason.
    kept = "".join(one if one.isprintable() else " " for one in text)
    ET.SubElement(parent, f"{{{ATOM}}}{name}").text = kept


def _link(parent: ET.Element, relation: str, address: str) -> None:
    ET.SubElement(parent, f"{{{ATOM}}}link", {"rel": relation, "href": address})
