// Small helps in the room. Every form works without this file.
const room = document.getElementById("room");
const told = document.getElementById("told");
let opened = new Set();
let asked = false;
let posting = 0;
let missed = false;
let leaving = false;
let problem = null;
let slow = 0;

// A form says that it is on its way, and when nobody answers; what was typed stays where it is.
if (window.htmx) htmx.config.timeout = 15000;
const sending = document.getElementById("sending");
function say(words, isBad = false) {
  clearTimeout(slow);
  sending.classList.toggle("bad", isBad);
  sending.textContent = words;
}
const unanswered = {
  "htmx:sendError": "The site does not answer; nothing was charged. Try again.",
  "htmx:timeout": "The site does not answer. Your words are kept. Reload to see whether it took them, then try again.",
};
for (const [name, words] of Object.entries(unanswered)) {
  document.addEventListener(name, (event) => { if (isForm(event)) say(words, true); });
}
document.addEventListener("htmx:responseError", (event) => {
  if (!isForm(event)) return;
  const isDown = event.detail.xhr.status >= 500;
  say(isDown ? unanswered["htmx:sendError"] : "The site did not take this. Reload the page, then try again.", true);
});

// A look that overlaps a form's request may be older than its answer: it is let go, and taken again after.
const isForm = (event) => event.detail.requestConfig.verb === "post";
document.addEventListener("htmx:beforeRequest", (event) => {
  if (!isForm(event)) return;
  posting += 1;
  problem = null;
  document.getElementById("problem")?.remove();
  say("");
  // What is answered at once needs no word.
  slow = setTimeout(say, 300, "Sending…");
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (!isForm(event)) return;
  posting -= 1;
  if (!sending.classList.contains("bad")) say("");
  if (posting === 0 && missed) {
    missed = false;
    htmx.trigger("#look", "sse:moved");
  }
});

// "One thing at a time" (409) comes with a page that says so: show it like any other answer.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.status === 409) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
  if (posting && !isForm(event) && event.detail.target.closest("#room")) {
    missed = true;
    event.detail.shouldSwap = false;
    return;
  }
  // Whatever in the room is still asking is about to go: its answer would find no place any more.
  if (event.detail.target === room) {
    for (const each of room.querySelectorAll("[hx-trigger^=every]")) if (each !== event.detail.elt) htmx.trigger(each, "htmx:abort");
  }
  // What was said of one form stays until the next is sent, though the page looks again meanwhile.
  if (event.detail.target === room) problem = isForm(event) ? null : (document.getElementById("problem") ?? problem);
  if (event.detail.target === room) opened = new Set([...room.querySelectorAll("details[open][id]")].map((one) => one.id));
});

// A look and a poll may both be sent to the debrief: a second departure would cut the first one short.
document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (!event.detail.xhr.getResponseHeader("HX-Redirect")) return;
  if (leaving) event.preventDefault();
  leaving = true;
});
window.addEventListener("pageshow", () => { leaving = false; });

// What is disabled keeps its focus and says why; it only does nothing.
document.addEventListener("click", (event) => {
  if (event.target.closest("[aria-disabled=true]")) event.preventDefault();
}, true);

document.addEventListener("submit", (event) => {
  if (event.target.closest("#room") && event.submitter?.name === "command") asked = true;
  if (event.target.matches(".ask")) asked = true;
}, true);

function lastExchange() {
  const all = document.querySelectorAll("#exchanges > li");
  return all[all.length - 1];
}

let shown = lastExchange()?.id;

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target !== room) return;
  if (problem && !document.getElementById("problem")) {
    problem.removeAttribute("role");
    room.querySelector(".room-head")?.after(problem);
  }
  for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
  const words = room.querySelector("[data-told]")?.textContent ?? "";
  const last = lastExchange();
  if (last && last.id !== shown) {
    shown = last.id;
    told.textContent = words;
    const input = document.getElementById("cmd");
    const line = last.querySelector(".prompt").textContent.trim();
    // A line that was answered leaves the field; a refused one stays to be mended.
    if (!last.classList.contains("refused") && input.value.trim() === line) {
      input.value = "";
      document.getElementById("price").textContent = "";
    }
  }
  // A tool far from the console: bring what it said into view.
  if (asked) {
    const there = document.querySelector("#under-way:has(> *)") ?? last;
    there?.scrollIntoView({ block: "nearest" });
    if (!document.querySelector("#under-way > *")) asked = false;
  }
});

// The clock of a real engine goes on between two looks.
let since = performance.now();
document.addEventListener("htmx:afterSettle", (event) => { if (event.detail.target === room) since = performance.now(); });
setInterval(() => {
  const clock = document.querySelector("[data-ticks]");
  if (!clock) return;
  const now = Math.min(Number(clock.dataset.until), Number(clock.dataset.ticks) + Math.floor((performance.now() - since) / 1000));
  clock.textContent = `${Math.floor(now / 60)}:${String(now % 60).padStart(2, "0")}`;
}, 1000);

// The number beside a slider follows it. What is moved but not kept yet outlives a room that is drawn anew.
const unkept = new Map();
document.addEventListener("input", (event) => {
  if (event.target.type !== "range") return;
  const value = Number(event.target.value);
  unkept.set(event.target.id, event.target.value);
  event.target.removeAttribute("data-unset");
  event.target.parentElement.querySelector("output").textContent = value ? `${value}%` : "out";
});
document.addEventListener("htmx:afterRequest", (event) => {
  const slider = event.detail.elt;
  if (slider.type !== "range" || !event.detail.successful) return;
  const kept = event.detail.requestConfig.formData.get(slider.name);
  if (unkept.get(slider.id) === kept) unkept.delete(slider.id);
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.target !== room) return;
  for (const [id, value] of unkept) {
    const slider = document.getElementById(id);
    if (!slider) continue;
    slider.value = value;
    for (const name of ["input", "change"]) slider.dispatchEvent(new Event(name, { bubbles: true }));
  }
});
