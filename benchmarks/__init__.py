"""How it is measured: asv suites; the instrument is in `ruler/`."""
