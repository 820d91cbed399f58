/* On paper a page is light, whatever it is on the screen, and its charts are as wide as the paper leaves room for:
   plotly draws for the window, and hears of no paper. */
(() => {
  const SCHEME = "data-mantine-color-scheme", root = document.documentElement;
  let before = null;
  const drawings = () => document.querySelectorAll(".js-plotly-plot .main-svg");
  addEventListener("beforeprint", () => {
    before ??= root.getAttribute(SCHEME);
    root.setAttribute(SCHEME, "light");
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
    for (const svg of drawings()) {
      svg.removeAttribute("viewBox");
      Object.assign(svg.parentElement.style, {aspectRatio: "", maxWidth: ""});
    }
  });
})();
