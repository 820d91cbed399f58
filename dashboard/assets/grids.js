/* Grids: their script when a page first has one, and numbers as the other tables write them. */
(() => {
  const prefixes = {"-12": "p", "-9": "n", "-6": "µ", "-3": "m", "0": "", "3": "k", "6": "M", "9": "G", "12": "T", "15": "P"};
  const digits = number => Number.isInteger(number) ? `${number}` : `${Number(number.toPrecision(3))}`;
  const functions = window.dashAgGridFunctions = window.dashAgGridFunctions || {};
  functions.quantity = (value, unit) => {
    if (value === null || value === undefined) return "–";
    if (Math.abs(value) < 1e-13) return `0 ${unit}`;
    const rounded = Number(Math.abs(value).toPrecision(3));
    const exponent = Math.max(-12, Math.min(15, 3 * Math.floor(Math.log10(rounded) / 3 + 1e-9)));
    const scaled = rounded / 10 ** exponent;
    const places = Math.max(0, 2 - Math.floor(Math.log10(scaled) + 1e-9));
    const shown = unit === "B" && exponent === 0 ? digits(scaled) : scaled.toFixed(places);
    return `${value < 0 ? "−" : ""}${shown} ${prefixes[exponent]}${unit}`;
  };
  functions.change = (value, unit) => {
    const shown = functions.quantity(value, unit);
    return value > 0 && !shown.startsWith("0 ") ? `+${shown}` : shown;
  };
  functions.figure = (value, unit) => value === null || value === undefined ? "–" : `${digits(value)}${unit}`;

  // Arrows go from cell to cell; the key that goes on from one thing to the next leaves the grid, however long it is.
  functions.onwards = () => false;

  const loading = {};
  const load = url => loading[url] = loading[url] || new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.onload = resolve;
    script.onerror = () => { delete loading[url]; reject(new Error(`${url} could not be loaded; reload the page`)); };
    script.src = url;
    document.head.append(script);
  });
  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.grids = {
    show: async (table, url) => {
      if (!table) return null;
      await load(url);
      return table;
    },
  };
})();
