// Lines over a number: uPlot, its size that of the page, its cursor also on the arrow keys.
import uPlot from "uplot";
import { color, h, onSchemeChange, onWidth } from "./dom.js";

const kStrokes = ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"];

const kReach = 12;  // pixels from a point at which a click is one on it
// Whole numbers only: no tick between two batches.
const kWholeSteps = [1, 2, 5].flatMap((n) => Array.from({ length: 12 }, (_, i) => n * 10 ** i)).sort((a, b) => a - b);

// `series`: {label, values, peaks?, limit?}; a peak is drawn as a pale band up to it, a limit as a dashed line. `x` is
// shared. `log`: {x, y}, which axes are logarithmic; where a value is not positive, none is. `pick(s, i)`: what a click on
// the point of series s at x[i] does; for series without peaks.
export function lines({ title, x, xLabel, yLabel, xFormat, yFormat, series, marks = [], points = false, top, log = {}, pick = null }) {
  const plot = h("div", { class: "plot", tabindex: "0", role: "img",
    "aria-label": `${title}: ${series.map((s) => s.label).join(", ")}. Arrow keys move the cursor, plus and minus zoom, 0 shows all.` });
  const box = h("figure", { class: "chart" }, h("figcaption", {}, title), plot);
  let chart = null;

  const draw = () => {
    chart?.destroy();
    const width = plot.clientWidth || 320;
    const data = [x];
    const columns = [{ label: "at", value: (_, v) => (v === null ? "" : xFormat(v)) }];
    const bands = [];
    series.forEach((s, i) => {
      const stroke = color(kStrokes[i % kStrokes.length]);
      const value = (_, v) => (v === null || v === undefined ? "" : yFormat(v));
      if (s.peaks) {
        data.push(s.peaks);
        columns.push({ label: `${s.label}, peak`, class: "peak", stroke: stroke + "66", width: 1, value, points: { show: false } });
      }
      data.push(s.values);
      columns.push({ label: s.label, stroke: s.limit ? color("text") : stroke, width: s.limit ? 1 : 2, dash: s.limit ? [6, 4] : undefined, value,
        spanGaps: true, points: { show: points, size: 7, fill: stroke } });
      if (s.peaks) bands.push({ series: [columns.length - 2, columns.length - 1], fill: stroke + "26" });
    });
    const font = "12px system-ui, sans-serif";
    const axis = { stroke: color("muted"), grid: { stroke: color("grid"), width: 1 }, ticks: { stroke: color("grid") }, font, labelFont: font, labelSize: 18 };
    const ticks = (format) => (_, values) => values.map((v) => (v === null ? "" : format(v)));
    const positive = (values) => values.every((v) => v === null || v === undefined || v > 0);
    const logX = log.x && positive(x), logY = log.y && series.every((s) => positive(s.values));
    const linear = (_, low, high) => [Math.min(0, low), Math.max(top ?? 0, high > 0 ? high * 1.06 : 1e-9)];
    const span = (_, low, high) => (low < high ? [low, high] : [low / 2, high * 2]);
    const decades = (_, low, high) => uPlot.rangeLog(low, high, 10, false);
    chart = new uPlot({
      width, height: Math.max(200, Math.min(300, width * 0.45)),
      scales: { x: logX ? { time: false, distr: 3, range: span } : { time: false }, y: logY ? { distr: 3, range: decades } : { range: linear } },
      axes: [{ ...axis, label: xLabel, values: ticks(xFormat), space: 70, ...(!logX && x.every(Number.isInteger) ? { incrs: kWholeSteps } : {}) },
        { ...axis, label: yLabel, values: ticks(yFormat), size: 76 }],
      series: columns, bands, legend: { live: true },
      cursor: { drag: { x: true, y: false } },
      hooks: { drawClear: [(u) => drawMarks(u, marks)] },
    }, data, plot);
  };
  const pickAt = (left, top) => {
    const i = chart.posToIdx(left);
    if (Math.abs(chart.valToPos(x[i], "x") - left) > kReach) return;
    const away = series.map((s) => (s.values[i] === null ? Infinity : Math.abs(chart.valToPos(s.values[i], "y") - top)));
    const nearest = away.indexOf(Math.min(...away));
    if (away[nearest] <= kReach) pick(nearest, i);
  };
  const move = (by) => {
    const left = (chart.cursor.left ?? -1) < 0 ? 0 : chart.cursor.left;
    const i = Math.min(x.length - 1, Math.max(0, chart.posToIdx(left) + by));
    chart.setCursor({ left: chart.valToPos(x[i], "x"), top: 10 });
  };
  const zoom = (factor) => {
    const { min, max } = chart.scales.x;
    const at = (chart.cursor.left ?? -1) >= 0 ? chart.posToVal(chart.cursor.left, "x") : (min + max) / 2;
    chart.setScale("x", { min: Math.max(x[0], at - (at - min) * factor), max: Math.min(x.at(-1), at + (max - at) * factor) });
  };
  plot.addEventListener("keydown", (event) => {
    const keys = {
      ArrowRight: () => move(event.shiftKey ? 10 : 1), ArrowLeft: () => move(event.shiftKey ? -10 : -1),
      "+": () => zoom(0.5), "-": () => zoom(2), 0: () => chart.setScale("x", { min: x[0], max: x.at(-1) }),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  // Before uPlot, which takes a click near an edge for the end of a drag.
  if (pick) plot.addEventListener("click", (event) => event.target === chart.over && pickAt(event.offsetX, event.offsetY), true);
  onWidth(plot, draw);
  onSchemeChange(() => plot.isConnected && draw());
  return box;
}

// A thin line where something begins, such as an iteration.
function drawMarks(u, marks) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.strokeStyle = color("mark");
  ctx.lineWidth = 1;
  for (const at of marks) {
    const left = Math.round(u.valToPos(at, "x", true)) + 0.5;
    if (left < bbox.left || left > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}
