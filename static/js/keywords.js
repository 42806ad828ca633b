// Says once which keyword was unfolded at this station. Without this file nothing is recorded; a keyword unfolds by itself.
const station = document.querySelector("[data-opened]");
const said = new Set();

// "toggle" does not bubble, so it is caught on its way down.
station?.addEventListener(
  "toggle",
  (event) => {
    const term = event.target.dataset?.term;
    if (!term || !event.target.open || said.has(term)) return;
    said.add(term);
    const body = new URLSearchParams({ term });
    const token = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] ?? "";
    // Nobody waits for it, and a lost one is no loss.
    fetch(station.dataset.opened, { method: "POST", body, keepalive: true, headers: { "X-CSRFToken": token } }).catch(() => {});
  },
  true,
);
