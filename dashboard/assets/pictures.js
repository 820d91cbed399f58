/* Buttons that save a chart as a picture: its own title, notes and legend are in it, on white whatever the page's colours. */
(() => {
  const WIDTH = 1200, LINE = 19, LINE_LENGTH = 150, MOST_LINES = 8, MOST_PILLS = 4;
  const UNSAID = ["Colour by", "Group by", "Relative to"]; // without which a value is not known for what it is
  const escaped = text => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const wrapped = text => text.match(new RegExp(`.{1,${LINE_LENGTH}}(\\s|$)|\\S{${LINE_LENGTH}}`, "g")) ?? [];
  const textOf = element => element?.innerText.trim() ?? "";

  /* What is chosen above the charts; a number with what it is of. In a small chart its own value stands for its selector's. */
  const chosenOf = panel => [...document.querySelectorAll(".bar .mantine-InputWrapper-root")]
    .filter(one => one.offsetParent).flatMap(one => {
      const label = textOf(one.querySelector("label"));
      if (label && panel.startsWith("hidden dim") && ["Hidden dim", "Model dim"].includes(label)) return [];
      if (label === "Lines" && panel) return []; // its own are in its legend
      const pills = [...one.querySelectorAll(".mantine-Pill-label")].map(textOf).filter(Boolean);
      if (pills.length > MOST_PILLS) pills.splice(MOST_PILLS, pills.length, `and ${pills.length - MOST_PILLS} more`);
      if (pills.length) return [pills.join(", ")];
      const value = one.querySelector("input:not([type=checkbox], [type=radio])")?.value;
      if (!value || ["nothing", "one by one", "the same commit"].includes(value)) return [];
      return [/^\d/.test(value) || UNSAID.includes(label) ? `${label} ${value}` : value];
    });

  /* Curves and marks by their names, each once, and the key of areas above the chart. */
  const legendOf = (graph, card) => {
    const named = new Set();
    const isNamed = (trace, mode) => trace.type === "scatter" && trace.fill !== "toself" && trace.name
      && (trace.mode ?? "").includes(mode) && !named.has(trace.name) && Boolean(named.add(trace.name));
    const hasBars = graph.data.some(trace => trace.type === "bar");
    const lines = graph.data.map(trace => isNamed(trace, "lines"));
    const marks = graph.data.map(trace => !hasBars && isNamed(trace, "markers"));
    const data = graph.data.map((trace, i) => ({...trace, showlegend: lines[i] || marks[i]}));
    const areas = [...card.querySelectorAll(".keys .provider:has(.square)")].filter(one => one.offsetParent);
    return [...data, ...areas.map(one => ({type: "bar", orientation: "h", name: textOf(one), x: [null], y: [null], showlegend: true,
      marker: {color: one.querySelector(".square").style.backgroundColor}}))]; // dark pages draw another one
  };

  document.addEventListener("click", async event => {
    const button = event.target.closest("button[data-picture]");
    const card = button?.closest(".card");
    // A card of small charts has several, and one that is not shown.
    const graphs = [...card?.querySelectorAll(".js-plotly-plot") ?? []].filter(graph => graph.offsetParent);
    if (!window.Plotly) return;
    const title = textOf(card?.querySelector("h2"));
    const notes = [...card?.querySelectorAll(".title > [class*=dimmed], .title > .note, .note") ?? []]
      .filter((one, i, all) => !all.some(other => other !== one && other.contains(one)))
      // Links lead nowhere from a picture.
      .flatMap(one => [...(one.children.length ? one.children : [one])].filter(part => !part.matches(".links")).map(textOf));
    const facts = [textOf(document.querySelector(".facts")), textOf(document.querySelector(".commit-shown"))];
    for (const graph of graphs) {
      const panel = textOf(graph.closest(".panel")?.querySelector("h3"));
      const chosen = chosenOf(panel);
      const lines = [[title, panel].filter(Boolean).join(" · "), [...chosen, ...facts].filter(Boolean).join(" · "), ...notes]
        .flatMap(wrapped).map(line => escaped(line.trim()));
      lines.splice(MOST_LINES);
      const data = legendOf(graph, card);
      const names = data.filter(trace => trace.showlegend).map(trace => trace.name);
      const inRow = Math.max(1, Math.floor((WIDTH - 100) / (60 + 7.5 * Math.max(1, ...names.map(name => name.length)))));
      const top = 34 + LINE * lines.length + 20 * Math.ceil(names.length / inRow) + 20;
      // Changes are named just above the area of the curves.
      const above = graph.layout.annotations?.length ? 20 / Math.max(1, graph.offsetHeight - 80) : 0;
      const layout = {...graph.layout, width: WIDTH, height: graph.offsetHeight + top, paper_bgcolor: "#fff",
        plot_bgcolor: "#fff", showlegend: names.length > 0,
        legend: {orientation: "h", y: 1 + above, yanchor: "bottom", x: 0}, font: {...graph.layout.font, color: "#222"},
        margin: {...graph.layout.margin, t: top},
        title: {text: [`<b>${lines[0]}</b>`, ...lines.slice(1)].join("<br>"), x: 0.01, xanchor: "left", yref: "container", y: 1,
          yanchor: "top", pad: {t: 22}, font: {size: 14}, automargin: false}};
      const name = ["fusebench", title, panel, ...chosen].join("-").toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 120);
      await window.Plotly.downloadImage({data, layout},
        {format: button.dataset.picture, filename: name.replace(/-$/, ""), width: layout.width, height: layout.height,
         ...(button.dataset.picture === "png" ? {scale: 2} : {})});
    }
  });
})();
