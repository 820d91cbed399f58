"""The figures, one module each: rows → everything shown → a plotly figure; pure."""
