// An order is a select for each item without this file. With it the items move, and the selects follow unseen.
const said = (list) => list.parentElement.querySelector("[role=status]");
const select = (row) => row.querySelector("select");

function renumber(list) {
  const rows = [...list.children];
  rows.forEach((row, at) => {
    select(row).value = String(at + 1);
    row.querySelector(".place").textContent = String(at + 1);
    row.querySelector("[data-move='-1']").setAttribute("aria-disabled", String(at === 0));
    row.querySelector("[data-move='1']").setAttribute("aria-disabled", String(at === rows.length - 1));
  });
}

function enhance(list) {
  if (list.dataset.order === "moves") return;
  list.dataset.order = "moves";
  const rows = [...list.children];
  // Places that a reload or a mistake has left unclear say nothing: then the page's own order stands.
  const places = rows.map((row) => Number(select(row).value));
  const clear = places.every(Boolean) && new Set(places).size === rows.length;
  if (clear) list.append(...rows.toSorted((a, b) => Number(select(a).value) - Number(select(b).value)));
  for (const row of rows) {
    const place = document.createElement("span");
    place.className = "place mono";
    row.prepend(place);
    select(row).hidden = true;
    row.querySelector(".moves").hidden = false;
  }
  renumber(list);
}

const enhanceAll = (root) => root.querySelectorAll("[data-order]").forEach(enhance);

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-move]");
  if (!button || button.getAttribute("aria-disabled") === "true") return;
  const row = button.closest("li");
  const list = row.parentElement;
  if (button.dataset.move === "-1") row.previousElementSibling.before(row);
  else row.nextElementSibling.after(row);
  renumber(list);
  // What is moved in the page loses its focus.
  button.focus();
  const words = row.querySelector("label").textContent;
  said(list).textContent = `${words}: place ${select(row).value} of ${list.children.length}`;
});

document.addEventListener("htmx:load", (event) => enhanceAll(event.detail.elt));
enhanceAll(document);
