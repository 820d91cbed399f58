/* Cells of a winner map by the keyboard: the map is one stop, arrows go from cell to cell, Enter follows the cell's link. */
(() => {
  const CELLS = "a.cell";
  const rowsOf = map => [...map.querySelectorAll("tbody tr")].map(row => [...row.querySelectorAll("td")].map(one => one.querySelector(CELLS)));
  const stopAt = (map, cell) => map.querySelectorAll(CELLS).forEach(one => { one.tabIndex = one === cell ? 0 : -1; });
  const look = () => document.querySelectorAll("table.map").forEach(map => {
    // A map that is drawn anew may keep some of its cells.
    const stops = [...map.querySelectorAll(CELLS)].filter(one => one.getAttribute("tabindex") !== "-1");
    const kept = stops.find(one => one.getAttribute("tabindex") === "0");
    if (stops.length !== 1 || !kept) stopAt(map, kept ?? map.querySelector(CELLS));
  });

  /* The next cell that can be reached in that direction: shapes that were not measured are passed over. */
  const next = (rows, key, {row, i}, isFar) => {
    const line = ["ArrowUp", "ArrowDown"].includes(key) ? rows.map(cells => cells[i]) : rows[row];
    const at = line === rows[row] ? i : row;
    switch (key) {
      case "ArrowRight": case "ArrowDown": return line.slice(at + 1).find(Boolean);
      case "ArrowLeft": case "ArrowUp": return line.slice(0, at).findLast(Boolean);
      case "Home": return (isFar ? rows.flat() : line).find(Boolean);
      case "End": return (isFar ? rows.flat() : line).findLast(Boolean);
      default: return undefined;
    }
  };
  const KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];
  document.addEventListener("keydown", event => {
    const cell = event.target.closest?.(`table.map ${CELLS}`);
    if (!cell || !KEYS.includes(event.key) || event.altKey || event.metaKey || event.shiftKey) return;
    const isFar = event.ctrlKey;
    if (isFar && !["Home", "End"].includes(event.key)) return;
    event.preventDefault();  // at an edge, too: the page would scroll away from the map
    const map = cell.closest("table.map"), rows = rowsOf(map);
    const row = rows.findIndex(cells => cells.includes(cell));
    const found = next(rows, event.key, {row, i: rows[row].indexOf(cell)}, isFar);
    if (found) { stopAt(map, found); found.focus(); }
  });
  // Who comes to a cell by the mouse goes on from there.
  document.addEventListener("focusin", event => {
    const cell = event.target.closest?.(`table.map ${CELLS}`);
    if (cell) stopAt(cell.closest("table.map"), cell);
  });
  document.addEventListener("fusebench:drawn", look);
})();
