/* Looks now and then whether the store has changed, and if so has the page drawn anew: its URL holds all that was chosen.
   While nobody can tell, the page says so, since what it shows may be old; once it can be told again, it is drawn anew.
   So is a page that says itself that it could not be read. */
(() => {
  const EVERY_MS = 30_000, SOON_MS = 5_000, LONGEST_MS = 20_000;
  const SILENT = "The dashboard's server does not answer";
  const UNREADABLE = "The database cannot be read just now";
  const LOCKED = "Another program has the database to itself just now: wait until it is done, or end it if it hangs";
  let known = null, isAway = false, nRedrawn = 0;
  const isUnread = () => document.querySelector(".unread") !== null;
  const say = text => {
    try { window.dash_clientside?.set_props?.("stale", {children: text}); } catch { /* not drawn yet: the next look says it */ }
  };
  const look = async () => {
    let state = null, why = SILENT;
    try {
      const answer = await fetch("/store-state", {cache: "no-store", signal: AbortSignal.timeout(LONGEST_MS)});
      const found = await answer.json().catch(() => ({}));
      why = answer.status === 503 ? (found.why === "locked" ? LOCKED : UNREADABLE) : `${SILENT} as it should (${answer.status})`;
      if (answer.ok) state = found.state ?? null;
    } catch { /* the server is away; the next look may find it */ }
    if (state === null) {
      isAway = true;
      say(`${why}; what is shown may be old. The page is drawn anew as soon as that is over.`);
      setTimeout(() => { if (isAway && !document.hidden) look(); }, SOON_MS);
      return;
    }
    if (isAway) say("");
    if (isAway || isUnread() || (known && state !== known)) {
      // Without it the page would jump to its top while it is empty.
      document.body.style.minHeight = `${document.body.scrollHeight}px`;
      setTimeout(() => { document.body.style.minHeight = ""; }, 10_000);
      window.dash_clientside.set_props("fault", {children: null});
      window.dash_clientside.set_props("store-state", {data: `${state}-${nRedrawn += 1}`});
    }
    isAway = false;
    known = state;
  };
  look();
  setInterval(() => { if (!document.hidden && !isAway) look(); }, EVERY_MS);
  setInterval(() => { if (!document.hidden && !isAway && isUnread()) look(); }, SOON_MS);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
  window.fusebenchLooksNow = look;
})();
