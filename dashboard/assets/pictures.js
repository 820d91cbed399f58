/* Buttons that save a chart as a picture: its own title, notes and legend are in it, on white whatever the page's colours. */
document.addEventListener("click", async event => {
  const button = event.target.closest("button[data-picture]");
  const card = button?.closest(".card");
  // A card of small charts has several, and one that is not shown.
  const graphs = [...card?.querySelectorAll(".js-plotly-plot") ?? []].filter(graph => graph.offsetParent);
  if (!window.Plotly) return;
  const said = selector => card.querySelector(selector)?.innerText.trim() ?? "";
  const escaped = text => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const chosen = [...document.querySelectorAll(".bar input:not([type=checkbox], [type=radio])")]
    .filter(input => input.value && input.offsetParent).map(input => input.value);
  const facts = document.querySelector(".facts")?.innerText ?? "";
  const wrapped = text => text.replace(/(.{1,150})(\s|$)/g, "$1<br>").replace(/<br>$/, "");
  for (const graph of graphs) {
    const panel = graph.closest(".panel")?.querySelector("h3").innerText ?? "";
    const lines = [`<b>${escaped(said("h2"))}</b>  ${escaped([panel, ...chosen, facts].filter(Boolean).join(" · "))}`,
      wrapped(escaped(said(".note")))].filter(Boolean);
    const data = graph.data.map(trace => ({...trace,
      showlegend: trace.type === "scatter" && trace.fill !== "toself" && (trace.mode ?? "").includes("lines")}));
    const layout = {...graph.layout, width: 1200, height: graph.offsetHeight + 130, paper_bgcolor: "#fff",
      plot_bgcolor: "#fff", showlegend: data.some(trace => trace.showlegend),
      legend: {orientation: "h", y: 1.01, yanchor: "bottom", x: 0}, font: {...graph.layout.font, color: "#222"},
      margin: {...graph.layout.margin, t: 120},
      title: {text: lines.join("<br>"), x: 0.01, xanchor: "left", y: 0.97, yanchor: "top", font: {size: 14}}};
    const name = ["fusebench", said("h2"), panel, ...chosen].join("-").toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 120);
    await window.Plotly.downloadImage({data, layout},
      {format: button.dataset.picture, filename: name, width: layout.width, height: layout.height,
       ...(button.dataset.picture === "png" ? {scale: 2} : {})});
  }
});
