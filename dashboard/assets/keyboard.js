/* Marks of a chart by the keyboard: arrows go along a curve or a row of bars and from one to another, and what is told of
   a mark is shown and heard; where a click chooses a mark, Enter does, and it opens a small chart. */
(() => {
  const MOVES = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];
  const at = new WeakMap();  // of each chart: the line and the mark it is at, by what outlives a redraw
  const told = document.createElement("div");
  told.setAttribute("role", "status");
  told.className = "only-heard";
  document.addEventListener("DOMContentLoaded", () => document.body.append(told));

  const isShown = trace => trace.visible === true && trace.hoverinfo !== "skip" && trace.x?.length;
  const axesOf = (graph, trace) => ["x", "y"].map(letter => {
    const name = trace[`${letter}axis`] ?? letter;
    return graph._fullLayout[name.replace(letter, `${letter}axis`)];
  });
  /* All marks of a trace with a text; of one with a single text for all, as a roof has, the one in its middle. */
  const marksOf = (graph, trace, curveNumber) => {
    const [across, up] = axesOf(graph, trace);
    const isOne = !Array.isArray(trace.hovertext);
    const middle = Math.floor(trace.x.length / 2);
    return Array.from(trace.x, (x, pointNumber) => {
      const note = isOne ? trace.name : trace.hovertext[pointNumber];
      const start = trace.type === "bar" ? trace.base?.[pointNumber] ?? 0 : x;
      return {curveNumber, pointNumber, note, key: trace.customdata?.[pointNumber] ?? note, x, y: trace.y[pointNumber],
              name: trace.name, left: across.d2p(start), top: up.d2p(trace.y[pointNumber])};
    }).filter(one => one.note && one.x !== null && one.y !== null && (!isOne || one.pointNumber === middle));
  };
  /* The lines that arrows go along: curves in the order they are drawn in, or rows of bars from the top. */
  const linesOf = graph => {
    const traces = graph._fullData.flatMap((trace, i) => isShown(trace) ? [marksOf(graph, trace, i)] : []);
    const hasBars = graph._fullData.some(trace => trace.type === "bar");
    const lines = hasBars
      ? [...Map.groupBy(traces.flat(), one => Math.round(one.top))].sort(([a], [b]) => a - b).map(([, marks]) => marks)
      : traces;
    return lines.filter(marks => marks.length)
      .map(marks => marks.sort((a, b) => a.left - b.left).map((one, i) => ({...one, i, line: hasBars ? null : one.name})));
  };
  /* Where the chart's place is now: the line, and the mark in it, or -1 if it is drawn no longer. */
  const find = (lines, place) => {
    const isSame = one => one.name === place?.name && one.key === place?.key;
    const isExact = one => isSame(one) && one.curveNumber === place.curveNumber && one.pointNumber === place.pointNumber;
    for (const is of [isExact, isSame]) {
      const row = lines.findIndex(marks => marks.some(is));
      if (row >= 0) return {row, i: lines[row].findIndex(is)};
    }
    return {row: Math.max(lines.findIndex(marks => marks[0].line && marks[0].line === place?.line), 0), i: -1};
  };
  const nearest = (marks, to) =>
    marks.reduce((best, one) => Math.abs(one.left - to.left) < Math.abs(best.left - to.left) ? one : best);
  const next = (graph, key, place) => {
    const lines = linesOf(graph);
    if (!lines.length) return null;
    const {row, i} = find(lines, place), marks = lines[row];
    if (key === "Home") return marks[0];
    if (key === "End") return marks.at(-1);
    // At first, and where its mark is gone: of curves the newest, of bars the first.
    if (i < 0) return marks[0].line ? marks.at(-1) : marks[0];
    const step = ["ArrowRight", "ArrowDown"].includes(key) ? 1 : -1;
    const other = lines[(row + step + lines.length) % lines.length];
    if (["ArrowUp", "ArrowDown"].includes(key)) return nearest(other, marks[i]);
    if (marks[i + step]) return marks[i + step];
    // Rows of bars are read as lines of a text are; a curve has ends.
    if (marks[0].line || !lines[row + step]) return marks[i];
    return lines[row + step].at(step > 0 ? 0 : -1);
  };
  const show = (graph, point) => {
    const {curveNumber, pointNumber} = point, trace = graph._fullData[curveNumber];
    window.Plotly.Fx.hover(graph, [{curveNumber, pointNumber}], `${trace.xaxis ?? "x"}${trace.yaxis ?? "y"}`);
    const words = document.createElement("template");
    words.innerHTML = point.note.replaceAll("<br>", "; ");
    told.textContent = words.content.textContent;
  };
  const leave = graph => { window.Plotly.Fx.unhover(graph); told.textContent = ""; };

  document.addEventListener("keydown", event => {
    const chart = event.target.closest?.(".by-keyboard");
    const graph = chart?.querySelector(".js-plotly-plot");
    if (event.target !== chart || !graph?._fullData || !window.Plotly || event.ctrlKey || event.metaKey || event.altKey) return;
    if (MOVES.includes(event.key)) {
      const point = next(graph, event.key, at.get(chart));
      if (point) { at.set(chart, point); show(graph, point); }
    } else if (event.key === "Enter" && chart.matches(".chooses") && at.has(chart)) {
      const lines = linesOf(graph), {row, i} = find(lines, at.get(chart));
      if (i < 0) return;
      const {curveNumber, pointNumber, x, y} = lines[row][i];
      graph.emit("plotly_click", {points: [{curveNumber, pointNumber, x, y}]});
    } else if (event.key === "Enter" && chart.matches(".opens")) {
      chart.closest(".panel").querySelector("h3 a").click();
    } else if (event.key === "Escape") {
      leave(graph);
    } else return;
    event.preventDefault();
  });
  document.addEventListener("focusout", event => {
    const graph = event.target.matches?.(".by-keyboard") && event.target.querySelector(".js-plotly-plot");
    if (graph?._fullData && window.Plotly) leave(graph);
  });
})();
