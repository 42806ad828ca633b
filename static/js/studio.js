// The writing desk: line numbers, the line of a mistake, Ctrl+S, and a question before typed text is left.
const text = document.querySelector("[data-editor]");
const numbers = document.querySelector("[data-numbers]");
const form = text.form;
let stored = text.value;

function number() {
  const count = text.value.split("\n").length;
  const marked = new Set((document.getElementById("look").dataset.lines || "").split(",").map(Number));
  numbers.replaceChildren();
  let plain = "";
  for (let line = 1; line <= count; line += 1) {
    if (!marked.has(line)) {
      plain += `${line}\n`;
      continue;
    }
    numbers.append(plain.replace(/\n$/, ""));
    const at = document.createElement("b");
    at.textContent = line;
    numbers.append(at);
    plain = "";
  }
  numbers.append(plain);
  numbers.scrollTop = text.scrollTop;
}

// A mistake that names a line leads there.
function lead() {
  for (const said of document.querySelectorAll("[data-fault]")) {
    const line = /:(\d+):/.exec(said.textContent);
    if (!line || said.querySelector("button")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = said.textContent;
    button.addEventListener("click", () => go(Number(line[1])));
    said.replaceChildren(button);
  }
}

function go(line) {
  const lines = text.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  text.focus();
  text.setSelectionRange(start, start + (lines[line - 1] || "").length);
  text.scrollTop = ((line - 4) / lines.length) * text.scrollHeight;
}

text.addEventListener("input", number);
text.addEventListener("scroll", () => { numbers.scrollTop = text.scrollTop; });
document.body.addEventListener("htmx:afterSwap", () => { number(); lead(); });
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
    event.preventDefault();
    form.requestSubmit(document.querySelector("[form=editor][value=save]"));
  }
});
form.addEventListener("submit", () => { stored = text.value; });
window.addEventListener("beforeunload", (event) => {
  if (text.value !== stored) event.preventDefault();
});
document.querySelector("[data-keys-hint]").hidden = false;
number();
lead();
