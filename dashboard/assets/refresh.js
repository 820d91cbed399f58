/* Looks now and then whether the store has changed, and if so has the page drawn anew: its URL holds all that was chosen. */
(() => {
  const EVERY_MS = 30_000;
  let known = null;
  const look = async () => {
    let state = null;
    try {
      const answer = await fetch("/store-state", {cache: "no-store"});
      if (answer.ok) state = (await answer.json()).state;
    } catch { /* the server is away; the next look may find it */ }
    if (state && known && state !== known) {
      // Without it the page would jump to its top while it is empty.
      document.body.style.minHeight = `${document.body.scrollHeight}px`;
      setTimeout(() => { document.body.style.minHeight = ""; }, 10_000);
      window.dash_clientside.set_props("store-state", {data: state});
    }
    known = state ?? known;
  };
  look();
  setInterval(() => { if (!document.hidden) look(); }, EVERY_MS);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
  window.fusebenchLooksNow = look;
})();
