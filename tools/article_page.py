"""Make docs/article.md's output and pictures: `make article-page` runs `fusebench article`, and draws what it found.

A bar is as long as the call takes, in calls of eager; its parts are those of the profiled call. Needs Chromium.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from chromium import browser

from results.judgement.article.steps import GUARDS as GUARD_FRAMES
from results.judgement.article.steps import PRODUCTS as PRODUCT_NAMES

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "article.md"
BEGIN, END = "<!-- begin: made by `make article-page` -->", "<!-- end -->"
WIDTH, SCALE = 900, 1.5
PRODUCTS, BIAS, POINTWISE, ONE = "matrix products", "copying the bias", "GELU, multiplication", "all in one operator"
GUARDS, REST = "guards and dispatch of torch.compile", "views and the rest of the host"
# Okabe and Ito's colours, which people who are colour-blind can tell apart.
UNKNOWN = "not known: disturbed while it was profiled"
COLOURS = {
    PRODUCTS: "#0072B2", BIAS: "#D55E00", POINTWISE: "#E69F00", ONE: "#009E73", GUARDS: "#999999", REST: "#DDDDDD",
    UNKNOWN: "#F7F7F7",
}  # fmt: skip


def parts_of(contender: dict[str, Any]) -> dict[str, float]:
    """Split a contender's time, in calls of eager, as its profiled call was split; the parts sum to that time."""
    whole_s = contender["host_time_s"]
    computing_s = whole_s - sum(contender["bookkeeping_s"].values())
    length = 1 / (contender["speedup_vs_eager"] or 1.0)
    parts = dict.fromkeys(COLOURS, 0.0)
    if any(step["share"] is None for step in contender["steps"]):
        return {**parts, UNKNOWN: length}
    for step in contender["steps"]:
        taken = step["share"] * computing_s / whole_s * length
        copied = step["within"].get("aten::copy_", 0.0) * taken
        parts[BIAS] += copied
        parts[_kind(step["name"])] += taken - copied
    for name, time_s in contender["bookkeeping_s"].items():
        parts[GUARDS if name in GUARD_FRAMES else REST] += time_s / whole_s * length
    return parts


def _kind(name: str) -> str:
    if name.startswith("fused_mlp::"):
        return ONE
    return PRODUCTS if name in PRODUCT_NAMES else POINTWISE


def figure_of(case: dict[str, Any]) -> go.Figure:
    """Draw one bar for each contender that has a profile, eager's first."""
    shown = [each for each in case["observed"] if each["steps"]]
    parts = {each["contender"]: parts_of(each) for each in shown}
    bars = [
        go.Bar(
            name=kind, y=list(parts), x=[of_one[kind] for of_one in parts.values()], orientation="h",
            marker={"color": colour, "line": {"color": "white", "width": 1}},
        )
        for kind, colour in COLOURS.items()
        if any(of_one[kind] for of_one in parts.values())
    ]  # fmt: skip
    figure = go.Figure(bars)
    for each in shown:
        figure.add_annotation(
            x=sum(parts[each["contender"]].values()), y=each["contender"], text=_length(each), xanchor="left",
            showarrow=False, xshift=6,
        )  # fmt: skip
    longest = max(sum(of_one.values()) for of_one in parts.values())
    axis = {"title": {"text": "time of one call, in calls of eager", "standoff": 5, "font": {"size": 14}}}
    figure.update_layout(
        barmode="stack", title={"text": case["title"], "x": 0.01, "font": {"size": 17}}, template="plotly_white",
        width=WIDTH, height=150 + 50 * len(parts), margin={"l": 90, "r": 20, "t": 50, "b": 90}, font={"size": 14},
        legend={"orientation": "h", "y": -0.42, "traceorder": "normal"},
        # Room for what is written behind the longest bar.
        xaxis={**axis, "range": [0, 1.3 * longest]}, yaxis={"autorange": "reversed"},
    )  # fmt: skip
    return figure


def _length(contender: dict[str, Any]) -> str:
    """Write a contender's time in calls of eager, with its interval."""
    speedup, low, high = (contender[f"speedup_{name}"] for name in ("vs_eager", "ci_low", "ci_high"))
    if not speedup:
        return "1"
    return f"{1 / speedup:.2f} ({1 / high:.2f} … {f'{1 / low:.2f}' if low > 0 else '∞'})"


def draw(figures: dict[Path, go.Figure]) -> None:
    """Write each figure to its file, by headless Chromium."""
    with browser() as chromium:
        page = chromium.new_context(viewport={"width": WIDTH + 40, "height": 600}, device_scale_factor=SCALE).new_page()
        for out, figure in figures.items():
            page.set_content(figure.to_html(include_plotlyjs=True, config={"displayModeBar": False}))
            page.wait_for_selector(".plotly-graph-div .barlayer .point", state="attached")
            page.locator(".plotly-graph-div").screenshot(path=out)


def printed(*options: str) -> str:
    """Run `fusebench article`; what it prints, 100 columns wide. What is measured already is not measured again."""
    command = [sys.executable, "-m", "fusebench", "article", *options]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "COLUMNS": "100"}, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"fusebench article {' '.join(options)} ended with {done.returncode}")
    return done.stdout


def with_output(page: str, text: str, pictures: list[Path], titles: list[str]) -> str:
    """Return the page with the output and the pictures between its marks; the rest stays."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    images = [f"![{title}]({picture.name})" for title, picture in zip(titles, pictures, strict=True)]
    made = "\n\n".join([BEGIN, *images, f"```\n{text.rstrip()}\n```", END])
    return f"{before}{made}{after}"


def main() -> None:
    """Measure what is not measured yet, draw, and write the page."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    text, content = printed(), json.loads(printed("--format", "json"))
    pictures = [PAGE.with_name(f"article-{number}.png") for number, _ in enumerate(content["cases"], start=1)]
    draw({out: figure_of(case) for out, case in zip(pictures, content["cases"], strict=True)})
    titles = [case["title"] for case in content["cases"]]
    PAGE.write_text(with_output(PAGE.read_text(encoding="utf-8"), text, pictures, titles), encoding="utf-8")
    print(PAGE, *pictures, sep="\n")


if __name__ == "__main__":
    main()
