"""asv's machine.json and benchmarks.json → records, and asv's naming rules where there is none."""

from __future__ import annotations

from results.errors import UnreadableFile
from results.files.json_fields import Malformed, as_text, is_object, optional_text_at, parsed_json, shown, text_at
from results.files.records import AsvBenchmarkRecord, AsvMachineRecord

# asv_runner's prefixes, for a benchmark that benchmarks.json no longer describes.
UNIT_OF_TYPE = {"time": "seconds", "timeraw": "seconds", "mem": "bytes", "peakmem": "bytes", "track": "unit"}
TYPE_OF_PREFIX = {
    "time": "time",
    "timeraw": "time",
    "mem": "memory",
    "peakmem": "peakmemory",
    "track": "track",
}


def asv_machine_from_bytes(content: bytes, *, path: str) -> AsvMachineRecord:
    """Parse asv's machine.json. Raises: UnreadableFile."""
    fields = parsed_json(content, path=path)
    try:
        name = text_at(fields, "machine")
        others = {key: value for key, value in fields.items() if key not in {"machine", "version"}}
        details = {key: "None" if value is None else as_text(value, named=key) for key, value in others.items()}
    except Malformed as error:
        raise UnreadableFile(path, str(error)) from error
    return AsvMachineRecord(name=name, details=details)


def asv_benchmarks_from_bytes(content: bytes, *, path: str) -> tuple[AsvBenchmarkRecord, ...]:
    """Parse asv's benchmarks.json, the newest description of each benchmark. Raises: UnreadableFile."""
    fields = parsed_json(content, path=path)
    benchmarks = []
    try:
        for name, found in fields.items():
            if not is_object(found):
                continue  # the format's own `version`
            names = _texts_in(name, found.get("param_names") or [])
            described = undescribed_benchmark(name, version=None, n_parameters=0)
            benchmarks.append(
                AsvBenchmarkRecord(
                    name=name,
                    version=as_text(found.get("version"), named=f"{name}: version"),
                    type=optional_text_at(found, "type") or described.type,
                    unit=optional_text_at(found, "unit") or described.unit,
                    parameter_names=names,
                )
            )
    except Malformed as error:
        raise UnreadableFile(path, str(error)) from error
    return tuple(benchmarks)


def _texts_in(name: str, found: object) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise Malformed(f"{name}: `param_names` is {shown(found)}, not a list of texts")
    return tuple(found)


def undescribed_benchmark(name: str, *, version: str | None, n_parameters: int) -> AsvBenchmarkRecord:
    """Describe a benchmark by asv's naming rules, where no benchmarks.json does."""
    prefix = name.rsplit(".", 1)[-1].split("_", 1)[0].lower()
    return AsvBenchmarkRecord(
        name=name,
        version=version or "",
        type=TYPE_OF_PREFIX.get(prefix, "track"),
        unit=UNIT_OF_TYPE.get(prefix, "unit"),
        parameter_names=tuple(f"param{i}" for i in range(1, n_parameters + 1)),
    )
