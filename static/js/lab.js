// Small helps in the room. Every form works without this file.
const room = document.getElementById("room");
const told = document.getElementById("told");
let opened = new Set();
let asked = false;
let posting = 0;
let missed = false;
let leaving = false;

// A look that overlaps a form's request may be older than its answer: it is let go, and taken again after.
const isForm = (event) => event.detail.requestConfig.verb === "post";
document.addEventListener("htmx:beforeRequest", (event) => { if (isForm(event)) posting += 1; });
document.addEventListener("htmx:afterRequest", (event) => {
  if (!isForm(event)) return;
  posting -= 1;
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

// The number beside a slider follows it.
document.addEventListener("input", (event) => {
  if (event.target.type !== "range") return;
  const value = Number(event.target.value);
  event.target.removeAttribute("data-unset");
  event.target.parentElement.querySelector("output").textContent = value ? `${value}%` : "out";
});
