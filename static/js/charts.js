// Charts: what an element's data-plot names is a JSON script beside it, with Plotly's data and layout.
// Numbers come from there, looks from here; "--c1" and its like are colours of tokens.css.
const probe = document.body.appendChild(document.createElement("i"));
probe.hidden = true;

function colour(token) {
  probe.style.color = `var(${token})`;
  return getComputedStyle(probe).color;
}

function resolve(node) {
  if (typeof node === "string") return node.startsWith("--") ? colour(node) : node;
  if (Array.isArray(node)) return typeof node[0] === "number" ? node : node.map(resolve);
  if (node && typeof node === "object") return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, resolve(value)]));
  return node;
}

const axis = {
  fixedrange: true, zeroline: false, showline: true, linecolor: "--edge", gridcolor: "--grid", automargin: false,
  ticks: "outside", ticklen: 4, tickcolor: "--edge", ticklabeloverflow: "allow", tickfont: { color: "--ink-3", size: 12 },
};

function looks(figure) {
  const style = getComputedStyle(document.documentElement);
  const rem = parseFloat(style.fontSize);
  const px = (token) => parseFloat(style.getPropertyValue(token)) * rem;
  const { xaxis = {}, yaxis = {}, margin = {}, ...rest } = figure.layout ?? {};
  const bottom = xaxis.showticklabels === false ? 8 : xaxis.title ? 38 : 24;
  return resolve({
    font: { family: style.getPropertyValue("--sans"), size: 12, color: "--ink-2" },
    paper_bgcolor: "#0000", plot_bgcolor: "#0000", showlegend: false, dragmode: false, hovermode: "x", hoverdistance: 40, bargap: 0.3,
    hoverlabel: { bgcolor: "--ink", bordercolor: "--ink", font: { color: "--bg", size: 12 } },
    margin: { l: px("--plot-l"), r: px("--plot-r"), t: 8, b: bottom, ...margin },
    xaxis: { ...axis, showgrid: false, ...xaxis, title: { standoff: 6, ...xaxis.title, font: { color: "--ink-3", size: 12 } } },
    yaxis: { ...axis, ...yaxis },
    ...rest,
  });
}

const drawn = new WeakMap();

function draw(element) {
  const source = document.getElementById(element.dataset.plot);
  if (!source) return;
  drawn.set(element, source);
  const figure = JSON.parse(source.textContent);
  Plotly.react(element, resolve(figure.data), looks(figure), { displayModeBar: false, responsive: true });
}

function drawAll() {
  document.querySelectorAll("[data-plot]").forEach(draw);
}

document.fonts.ready.then(drawAll);
document.addEventListener("theme", drawAll);
// A fragment that htmx swapped in brings its own figure; what it left alone stays as it is drawn.
document.addEventListener("htmx:afterSettle", () => {
  for (const element of document.querySelectorAll("[data-plot]")) {
    if (drawn.get(element) !== document.getElementById(element.dataset.plot)) draw(element);
  }
});
