/* On paper a page is light, whatever it is on the screen, its charts are as wide as the paper leaves room for, and its
   grids are tables of all their rows and columns: plotly and the grid draw for the window, and hear of no paper. */
(() => {
  const SCHEME = "data-mantine-color-scheme", root = document.documentElement;
  let before = null;
  const made = (name, children) => {
    const element = document.createElement(name);
    element.append(...children);
    return element;
  };
  // As sorted and filtered, in the words of the grid; columns of numbers stand right.
  const tableOf = api => {
    const columns = api.getAllDisplayedColumns(), rows = [];
    const cell = (name, column, text) => {
      const found = made(name, [text ?? ""]);
      if (column.getColDef().valueFormatter) found.className = "number";
      return found;
    };
    api.forEachNodeAfterFilterAndSort(rowNode => rows.push(made("tr", columns.map(colKey =>
      cell("td", colKey, api.getCellValue({rowNode, colKey, useFormatter: true}))))));
    const head = made("tr", columns.map(column => cell("th", column, column.getColDef().headerName)));
    const table = made("table", [made("thead", [head]), made("tbody", rows)]);
    table.className = "winners on-paper";
    return table;
  };
  const drawTables = () => {
    for (const grid of document.querySelectorAll(".grid-slot .grid")) {
      const api = grid.id && window.dash_ag_grid?.getApi(grid.id);
      if (!api) continue;
      grid.closest(".grid-slot").after(tableOf(api));
      grid.closest(".grid-slot").classList.add("off-paper");
    }
  };
  const removeTables = () => {
    for (const table of document.querySelectorAll(".on-paper")) table.remove();
    for (const slot of document.querySelectorAll(".off-paper")) slot.classList.remove("off-paper");
  };
  const drawings = () => document.querySelectorAll(".js-plotly-plot .main-svg");
  addEventListener("beforeprint", () => {
    before ??= root.getAttribute(SCHEME);
    root.setAttribute(SCHEME, "light");
    removeTables();
    drawTables();
    for (const svg of drawings()) {
      const [width, height] = ["width", "height"].map(side => parseFloat(svg.getAttribute(side)));
      if (!(width > 0 && height > 0)) continue;
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      // Smaller where it must be, never larger: a small chart stays one.
      Object.assign(svg.parentElement.style, {aspectRatio: `${width} / ${height}`, maxWidth: `${width}px`});
    }
  });
  addEventListener("afterprint", () => {
    if (before !== null) root.setAttribute(SCHEME, before);
    before = null;
    removeTables();
    for (const svg of drawings()) {
      svg.removeAttribute("viewBox");
      Object.assign(svg.parentElement.style, {aspectRatio: "", maxWidth: ""});
    }
  });
})();
