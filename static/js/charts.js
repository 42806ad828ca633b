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
  fixedrange: true, zeroline: false, showline: true, linecolor: "--edge", gridcolor: "--grid", automargin: false, tickangle: 0, separatethousands: true,
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

const pen = document.createElement("canvas").getContext("2d");
const LINE = 15;

// Of ticks that would touch, every second one goes.
function spaced(axis, px, wide) {
  let { tickvals, ticktext } = axis;
  if (!tickvals || axis.type === "log") return axis;
  const text = (at) => wide({ text: ticktext ? ticktext[at] : tickvals[at].toLocaleString("en-GB") });
  const touch = () => tickvals.some((value, at) => at > 0 && (value - tickvals[at - 1]) * px < (text(at) + text(at - 1)) / 2 + 4);
  const half = (list) => list?.filter((_, at) => at % 2 === 0);
  while (tickvals.length > 2 && touch()) [tickvals, ticktext] = [half(tickvals), half(ticktext)];
  return { ...axis, tickvals, ...(ticktext && { ticktext }) };
}

// Words at the ends of lines and rules: give them room at the right, keep them above the axis, and off each other.
function settle(layout, width, height) {
  const { margin: { l, r, t, b }, xaxis, yaxis, annotations = [] } = layout;
  const across = width - l - r, up = height - t - b;
  if (!xaxis.range || !yaxis.range || !annotations.length || across <= 0 || up <= 0) return layout;
  pen.font = `${layout.font.size}px ${layout.font.family}`;
  const wide = (word) => pen.measureText(word.text).width + 2;
  const isEnd = (word) => word.xref !== "paper" && word.yref !== "paper" && word.xanchor === "left";
  const [low] = xaxis.range;
  const room = (word) => Math.max(across - (word.xshift ?? 0) - wide(word), across / 4);
  const ends = xaxis.type === "log" ? [] : annotations.filter(isEnd);
  const high = Math.max(xaxis.range[1], ...ends.map((word) => low + (word.x - low) * across / room(word)));
  const [bottom, top] = yaxis.range;
  const boxes = annotations.map((word) => {
    const w = wide(word);
    let x = word.xref === "paper" ? word.x * across : (word.x - low) / (high - low) * across;
    // A rule near the right edge has its name at its left.
    if (word.xref !== "paper" && word.yref === "paper" && word.xanchor === "left" && x + w > across + r) {
      word.xanchor = "right"; word.xshift = -(word.xshift ?? 0);
    }
    x += word.xshift ?? 0;
    const from = word.xanchor === "left" ? x : word.xanchor === "right" ? x - w : x - w / 2;
    const y = (word.yref === "paper" ? word.y : (word.y - bottom) / (top - bottom)) * up + (word.yshift ?? 0);
    const lift = word.yanchor === "bottom" ? LINE / 2 : word.yanchor === "top" ? -LINE / 2 : 0;
    return { word, from, to: from + w, y: y + lift, was: y + lift, fixed: word.yref === "paper" || word.yanchor === "bottom" };
  });
  const hold = (box) => { if (!box.fixed) box.y = Math.min(Math.max(box.y, LINE / 2), up + t - LINE / 2); };
  boxes.forEach(hold);
  for (let round = 0; round < 8; round += 1) {
    for (const one of boxes) for (const two of boxes) {
      const over = one.y <= two.y ? LINE - (two.y - one.y) : 0;
      if (one === two || over <= 0 || one.from >= two.to || two.from >= one.to || (one.y === two.y && boxes.indexOf(one) > boxes.indexOf(two))) continue;
      if (one.fixed && two.fixed) continue;
      one.y -= one.fixed ? 0 : two.fixed ? over : over / 2;
      two.y += two.fixed ? 0 : one.fixed ? over : over / 2;
      hold(one); hold(two);
    }
  }
  for (const box of boxes) if (box.y !== box.was) box.word.yshift = (box.word.yshift ?? 0) + box.y - box.was;
  return { ...layout, xaxis: { ...spaced(xaxis, across / (high - low), wide), range: [low, high] } };
}

const drawn = new WeakMap();

function draw(element) {
  const source = document.getElementById(element.dataset.plot);
  if (!source) return;
  drawn.set(element, source);
  const figure = JSON.parse(source.textContent);
  Plotly.react(element, resolve(figure.data), settle(looks(figure), element.clientWidth, element.clientHeight), { displayModeBar: false, responsive: true });
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
