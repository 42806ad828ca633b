// The theme button is a form that works without this file. With it, the page changes at once and stays where it is.
const order = ["auto", "light", "dark"];
const words = { auto: "Theme: as the system", light: "Theme: light", dark: "Theme: dark" };
const root = document.documentElement;

function show(form, theme) {
  if (theme === "auto") delete root.dataset.theme;
  else root.dataset.theme = theme;
  form.elements.theme.value = order[(order.indexOf(theme) + 1) % order.length];
  form.querySelector("use").setAttribute("href", `#i-${theme}`);
  form.querySelector("button span").textContent = words[theme];
  document.dispatchEvent(new Event("theme"));
}

for (const form of document.querySelectorAll("[data-theme-form]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const body = new FormData(form);
    show(form, body.get("theme"));
    fetch(form.action, { method: "POST", body, headers: { "HX-Request": "true" }, keepalive: true });
  });
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("theme")));
