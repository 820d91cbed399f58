/* The page's name in the window's title, its link in the header told as the open one, and the link that leads past the others to the page's own content. */
(() => {
  let watched = null;
  const tellOpen = () => watched.querySelectorAll("a").forEach(one => one.classList.contains("here")
    ? one.setAttribute("aria-current", "page") : one.removeAttribute("aria-current"));
  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.pages = {
    title: links => {
      const here = (links ?? []).find(one => one.props.className.split(" ").includes("here"));
      document.title = here ? `${here.props.children} · fusebench` : "fusebench";
      const nav = document.getElementById("nav");
      if (nav === watched || !nav) return;
      watched = nav;
      new MutationObserver(tellOpen).observe(nav, {childList: true, subtree: true, attributeFilter: ["class"]});
      tellOpen();
    },
  };
  // Without the hash that a link would leave in the URL, which is copied.
  document.addEventListener("click", event => {
    if (!event.target.closest?.(".skip")) return;
    event.preventDefault();
    document.getElementById("page").focus();
  });
})();
