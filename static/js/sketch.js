// A sketch is a row of number fields without this file. With it every field has a point on the plane above it, which
// slides; the line follows. A point that nobody has set stays hollow, and its field empty.
const field = (slider) => document.getElementById(slider.dataset.slides);
const sliders = (sketch) => [...sketch.querySelectorAll("[data-slides]")];

function redraw(sketch) {
  const all = sliders(sketch);
  const points = [];
  all.forEach((slider, n) => {
    const typed = Number(field(slider).value.trim().replaceAll(",", ""));
    const isSet = field(slider).value.trim() !== "" && Number.isFinite(typed);
    slider.classList.toggle("unset", !isSet);
    slider.setAttribute("aria-valuetext", isSet ? String(typed) : "not set");
    if (!isSet) return;
    if (Number(slider.value) !== typed) slider.value = String(typed);
    const share = (Math.min(Math.max(typed, slider.min), slider.max) - slider.min) / (slider.max - slider.min);
    points.push(`${(100 * (n + 0.5)) / all.length},${100 * (1 - share)}`);
  });
  sketch.querySelector("[data-line]").setAttribute("points", points.join(" "));
}

function set(slider, value) {
  slider.value = String(value);
  field(slider).value = slider.value;
}

// A pointer sets the point of the column that it is in, and of those that it has crossed since it was last seen.
function drag(sketch) {
  const plane = sketch.querySelector("[data-plane]");
  const all = sliders(sketch);
  let last = -1;
  const follow = (event) => {
    const box = plane.getBoundingClientRect();
    const at = Math.floor(((event.clientX - box.left) / box.width) * all.length);
    const place = Math.min(Math.max(at, 0), all.length - 1);
    const { min, max } = all[place];
    const value = Number(max) - ((event.clientY - box.top) / box.height) * (max - min);
    const crossed = last < 0 ? [place] : all.map((_, n) => n).filter((n) => (n > Math.min(last, place) && n < Math.max(last, place)) || n === place);
    for (const n of crossed) set(all[n], value);
    last = place;
    redraw(sketch);
    return all[place];
  };
  plane.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    plane.setPointerCapture(event.pointerId);
    last = -1;
    follow(event).focus({ preventScroll: true });
  });
  plane.addEventListener("pointermove", (event) => {
    if (plane.hasPointerCapture(event.pointerId)) follow(event);
  });
}

function enhance(sketch) {
  if (sketch.dataset.sketch === "drawn") return;
  sketch.dataset.sketch = "drawn";
  for (const hidden of sketch.querySelectorAll("[data-drawn-only]")) hidden.hidden = false;
  for (const slider of sliders(sketch)) {
    slider.value = String((Number(slider.min) + Number(slider.max)) / 2);
    slider.addEventListener("input", () => {
      set(slider, slider.value);
      redraw(sketch);
    });
    // Up, down, Home and End set a point even if it stays where it was.
    slider.addEventListener("keyup", (event) => {
      if (!slider.classList.contains("unset") || event.key === "Tab" || event.key === "Shift") return;
      set(slider, slider.value);
      redraw(sketch);
    });
    field(slider).addEventListener("input", () => redraw(sketch));
  }
  drag(sketch);
  redraw(sketch);
}

const enhanceAll = (root) => root.querySelectorAll("[data-sketch]").forEach(enhance);

document.addEventListener("htmx:load", (event) => enhanceAll(event.detail.elt));
enhanceAll(document);
