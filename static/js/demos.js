// A control is a number field without this file. With it a slider stands before the field, and each follows the other.
const field = (slider) => document.getElementById(slider.dataset.slides);

function follow(slider) {
  const typed = Number(field(slider).value.replace(/[, \u202f]/g, ""));
  if (!Number.isNaN(typed)) slider.value = String(typed);
}

function enhance(root) {
  for (const slider of root.querySelectorAll("[data-slides]")) {
    slider.hidden = false;
    follow(slider);
  }
}

document.addEventListener("input", (event) => {
  const slid = event.target.dataset.slides;
  if (slid) field(event.target).value = event.target.value;
  else document.querySelectorAll(`[data-slides="${event.target.id}"]`).forEach(follow);
});

// The sentence beside a field comes from the server; the field learns of it here.
document.addEventListener("htmx:oobAfterSwap", (event) => {
  const { id, textContent } = event.detail.target ?? {};
  const input = id?.endsWith("-fault") && document.getElementById(id.replace(/-fault$/, ""));
  if (!input) return;
  if (textContent.trim()) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
});

document.addEventListener("htmx:load", (event) => enhance(event.detail.elt));
enhance(document);
