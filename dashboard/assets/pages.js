/* The page's name in the window's title, and the link that leads past the others to the page's own content. */
(() => {
  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.pages = {
    title: links => {
      const here = (links ?? []).find(one => one.props.className.split(" ").includes("here"));
      document.title = here ? `${here.props.children} · fusebench` : "fusebench";
    },
  };
  // Without the hash that a link would leave in the URL, which is copied.
  document.addEventListener("click", event => {
    if (!event.target.closest?.(".skip")) return;
    event.preventDefault();
    document.getElementById("page").focus();
  });
})();
