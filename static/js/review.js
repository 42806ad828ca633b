// The desk works without this file. With it the lease counts down and is renewed while somebody works, a digit gives
// points, the sum follows, and leaving with unsaved words asks first.
const rubric = document.querySelector("[data-rubric]");
const BEAT_MS = 4 * 60 * 1000;

const minutes = (seconds) => `${Math.ceil(seconds / 60)} min`;

function countDown(lease) {
  const end = Date.now() + Number(lease.dataset.lease) * 1000;
  const said = document.querySelector("[data-lease-said]");
  const bar = lease.parentElement.querySelector("progress");
  const spoken = new Set();
  const say = (key, words) => {
    if (!spoken.has(key)) said.textContent = words;
    spoken.add(key);
  };
  const tick = () => {
    if (!lease.isConnected) return;
    const left = Math.max(0, Math.round((end - Date.now()) / 1000));
    bar.value = left;
    if (left === 0) {
      lease.querySelector("b").textContent = "Your 30 minutes are over";
      lease.querySelector("span").textContent = "save now, and it stays yours unless somebody has taken it";
      say("over", "Your 30 minutes are over. Save now.");
      return;
    }
    lease.querySelector("output").textContent = minutes(left);
    if (left < 300) {
      lease.classList.add("last");
      say("five", `${minutes(left)} left. Saving gives you 30 minutes more.`);
    }
    setTimeout(tick, 1000 * Math.min(left, 5));
  };
  tick();
}

let counted = null;
function follow() {
  const lease = document.querySelector("[data-lease]");
  if (lease && lease !== counted) countDown(lease);
  counted = lease;
}
follow();
document.addEventListener("htmx:afterSettle", follow);

// Whoever reads, points or types is at work, and keeps the claim; a page that is only left open does not.
let atWork = false;
for (const name of ["input", "keydown", "pointerdown", "pointermove", "scroll"]) {
  addEventListener(name, () => { atWork = true; }, { passive: true, capture: true });
}
setInterval(() => {
  if (atWork) document.getElementById("lease")?.dispatchEvent(new Event("beat"));
  atWork = false;
}, BEAT_MS);

if (rubric) {
  const items = [...rubric.querySelectorAll("fieldset")];
  const sum = rubric.querySelector("[data-sum]");
  const add = () => {
    const chosen = items.map((item) => Number(item.querySelector(":checked")?.value || 0));
    // Items that take points away never take more than there is.
    sum.textContent = Math.max(0, chosen.reduce((total, points) => total + points, 0));
  };
  let changed = document.querySelector(".notice.wide") !== null;
  rubric.addEventListener("input", () => {
    changed = true;
    add();
  });
  rubric.addEventListener("submit", () => { changed = false; });
  addEventListener("beforeunload", (event) => {
    if (changed) event.preventDefault();
  });

  // Full points first, then one less each time, then full again.
  for (const hint of rubric.querySelectorAll("[data-digit],[data-digits]")) hint.hidden = false;
  rubric.addEventListener("keydown", (event) => {
    const item = items[Number(event.key) - 1];
    if (!item || event.target.matches("textarea, select") || event.ctrlKey || event.altKey || event.metaKey) return;
    const radios = [...item.querySelectorAll("input")];
    const at = radios.findIndex((radio) => radio.checked);
    const next = radios[at > 1 ? at - 1 : radios.length - 1];
    next.checked = true;
    next.focus();
    next.dispatchEvent(new Event("input", { bubbles: true }));
    event.preventDefault();
  });
}
