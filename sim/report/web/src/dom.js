// Elements without a framework.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// A table with a caption; cells are texts, numbers are right-aligned by `numeric` columns.
export function table(caption, head, rows, numeric = []) {
  const cell = (tag, text, i) => h(tag, { class: numeric.includes(i) ? "number" : null, scope: tag === "th" ? "col" : null }, text);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", {}, caption),
      h("thead", {}, h("tr", {}, head.map((text, i) => cell("th", text, i)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((text, i) => cell("td", text, i)))))));
}

// A labelled choice; `change` gets the index of the option.
export function choice(label, options, change, selected = 0) {
  const select = h("select", { onchange: () => change(select.selectedIndex) },
    options.map((text, i) => h("option", { selected: i === selected }, text)));
  return h("label", { class: "choice" }, label + " ", select);
}

export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

// Gives `canvas` so many CSS pixels, sharp on any screen, and returns what to draw with in these.
export function penOf(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  return pen;
}

// Calls `draw` with the width of `element`, now and whenever it has another. A frame later: drawing changes sizes itself.
export function onWidth(element, draw) {
  let last = 0;
  new ResizeObserver(() => requestAnimationFrame(() => {
    const width = element.clientWidth;
    if (width === last || width === 0) return;
    last = width;
    draw(width);
  })).observe(element);
}

// Pictures that are drawn with colours draw themselves again when the colour scheme changes.
const redraws = new Set();
export function onSchemeChange(redraw) { redraws.add(redraw); }
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraws.forEach((redraw) => redraw()));
