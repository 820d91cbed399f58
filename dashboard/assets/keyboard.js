/* Points of a chart by the keyboard: arrows go along a curve and from one to another, Enter chooses as a click does. */
(() => {
  const MOVES = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];
  const at = new WeakMap();  // of each chart: the name of the curve and the key of the point, which outlive a redraw
  const told = document.createElement("div");
  told.setAttribute("role", "status");
  told.className = "only-heard";
  document.addEventListener("DOMContentLoaded", () => document.body.append(told));

  const curvesOf = graph => graph.data.flatMap((trace, curveNumber) => {
    if (!trace.customdata || !trace.hovertext || trace.visible === false) return [];
    const marks = Array.from(trace.customdata, (key, pointNumber) => ({curveNumber, pointNumber, key, name: trace.name}))
      .filter(one => one.key !== null && trace.y[one.pointNumber] !== null);
    return marks.length ? [marks] : [];
  });
  const find = (curves, place) => {
    const curve = curves.find(marks => marks[0].name === place?.name) ?? curves[0];
    const found = curve.findIndex(one => one.key === place?.key);
    return {curve, i: found, row: curves.indexOf(curve)};
  };
  const nearest = (graph, marks, point) => {
    const xOf = one => graph._fullLayout.xaxis.d2p(graph.data[one.curveNumber].x[one.pointNumber]);
    const distance = one => Math.abs(xOf(one) - xOf(point));
    return marks.reduce((best, one) => distance(one) < distance(best) ? one : best);
  };
  const next = (graph, key, place) => {
    const curves = curvesOf(graph);
    if (!curves.length) return null;
    const {curve, i, row} = find(curves, place);
    if (i < 0 || key === "End") return curve.at(-1);
    if (key === "Home") return curve[0];
    if (key === "ArrowLeft") return curve[Math.max(i - 1, 0)];
    if (key === "ArrowRight") return curve[Math.min(i + 1, curve.length - 1)];
    const other = curves[(row + (key === "ArrowDown" ? 1 : curves.length - 1)) % curves.length];
    return nearest(graph, other, curve[i]);
  };
  const show = (graph, point) => {
    const trace = graph.data[point.curveNumber];
    window.Plotly.Fx.hover(graph, [{curveNumber: point.curveNumber, pointNumber: point.pointNumber}], trace.yaxis === "y2" ? "xy2" : "xy");
    const words = document.createElement("template");
    words.innerHTML = trace.hovertext[point.pointNumber].replaceAll("<br>", "; ");
    told.textContent = words.content.textContent;
  };

  document.addEventListener("keydown", event => {
    const chart = event.target.closest?.(".by-keyboard");
    const graph = chart?.querySelector(".js-plotly-plot");
    if (event.target !== chart || !graph?.data || !window.Plotly || event.ctrlKey || event.metaKey || event.altKey) return;
    if (MOVES.includes(event.key)) {
      const point = next(graph, event.key, at.get(chart));
      if (point) { at.set(chart, {name: point.name, key: point.key}); show(graph, point); }
    } else if (event.key === "Enter" && at.has(chart)) {
      const {curve, i} = find(curvesOf(graph), at.get(chart));
      if (i < 0) return;
      const {curveNumber, pointNumber} = curve[i], {x, y} = graph.data[curveNumber];
      graph.emit("plotly_click", {points: [{curveNumber, pointNumber, x: x[pointNumber], y: y[pointNumber]}]});
    } else if (event.key === "Escape") {
      window.Plotly.Fx.unhover(graph);
    } else return;
    event.preventDefault();
  });
  document.addEventListener("focusout", event => {
    const graph = event.target.matches?.(".by-keyboard") && event.target.querySelector(".js-plotly-plot");
    if (graph?.data && window.Plotly) window.Plotly.Fx.unhover(graph);
  });
})();
