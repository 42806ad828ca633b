// The review works without this file. With it a key presses the button that names it, two keys step through the rubric,
// and ? lists them all. The page says which keys: each grader may have others.
const dialog = document.getElementById("keys");
const items = [...document.querySelectorAll("[data-rubric] fieldset")];

function step(by) {
  const at = items.findIndex((item) => item.contains(document.activeElement));
  const to = items[at < 0 ? 0 : Math.min(Math.max(at + by, 0), items.length - 1)];
  (to?.querySelector(":checked") ?? to?.querySelector("input"))?.focus();
}

const isTyped = (target) => target.matches("textarea, select, input:not([type=radio], [type=checkbox])");

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  if (dialog.open || event.defaultPrevented || isTyped(event.target)) return;
  const key = event.key.toLowerCase();
  const button = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (key === "?") dialog.showModal();
  else if (key === dialog.dataset.down) step(1);
  else if (key === dialog.dataset.up) step(-1);
  else if (button && !event.repeat) button.click();
  else return;
  event.preventDefault();
});

for (const hint of document.querySelectorAll("[data-keyed]")) hint.hidden = false;
for (const link of document.querySelectorAll("[data-keys]")) {
  link.setAttribute("aria-haspopup", "dialog");
  link.addEventListener("click", (event) => {
    event.preventDefault();
    dialog.showModal();
  });
}
