/* Marks a box whose content is wider than it, and that it hides some to the right: the style sheet shows and says so. */
(() => {
  const mark = box => {
    const hidden = box.scrollWidth - box.clientWidth;
    box.toggleAttribute("data-scrolls", hidden > 1);
    box.toggleAttribute("data-more", hidden - box.scrollLeft > 1);
  };
  const known = new WeakSet();
  const sizes = new ResizeObserver(changes => changes.forEach(one => {
    const box = one.target.closest(".scrolls");
    if (box) mark(box);  // else it was taken out of its box
  }));
  const look = () => document.querySelectorAll(".scrolls").forEach(box => {
    for (const one of [box, ...box.children]) if (!known.has(one)) { known.add(one); sizes.observe(one); }
  });
  document.addEventListener("fusebench:drawn", look);
  document.addEventListener("scroll", event => { if (event.target.matches?.(".scrolls")) mark(event.target); }, true);
})();
