/* Tells the other scripts, once a frame at most, that something was put onto the page or taken from it. */
(() => {
  let isDue = false;
  const changes = new MutationObserver(() => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => { isDue = false; document.dispatchEvent(new Event("fusebench:drawn")); });
  });
  document.addEventListener("DOMContentLoaded", () => changes.observe(document.body, {childList: true, subtree: true}));
})();
