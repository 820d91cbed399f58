// A selector that can be searched opens with its text selected: what one types replaces it.
document.addEventListener("focusin", event => {
  const input = event.target;
  if (input.matches?.("input.mantine-Select-input:not([readonly])")) requestAnimationFrame(() => input.select());
});
