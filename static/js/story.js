// The story works without this file. With it the arrow keys move it from anywhere, the list and the slider follow what
// is shown, and the slider says in words where it stands.
const slider = document.querySelector("[data-scrub] input[type=range]");

function follow() {
  const scene = document.getElementById("scene");
  if (!scene || !slider) return;
  slider.value = scene.dataset.place;
  slider.setAttribute("aria-valuetext", scene.dataset.spoken);
  for (const link of document.querySelectorAll(".all-moments a")) {
    if (link.dataset.place === scene.dataset.place) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}
follow();
document.addEventListener("htmx:afterSettle", follow);

const to = (place) => {
  slider.value = place;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
};
const MOVES = {
  ArrowLeft: (at) => at - 1,
  ArrowRight: (at) => at + 1,
  Home: () => Number(slider.min),
  End: () => Number(slider.max),
};
addEventListener("keydown", (event) => {
  const move = MOVES[event.key];
  if (!move || !slider || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
  if (event.target.matches("input, textarea, select, pre, .scroll")) return;
  to(move(Number(slider.value)));
  event.preventDefault();
});
