// How a program uses memory: what `uvmsim analyse --json` printed.
import { color, h, onSchemeChange, onWidth, penOf, table } from "./dom.js";
import { byteRate, bytes, count, digits, percent, seconds } from "./format.js";
import { lines } from "./lines.js";
import { section } from "./run.js";

const kShown = 12;  // rows of a table before the others are folded

function cell(column, value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (column.endsWith("bytes_per_s")) return byteRate(value);
  if (column.endsWith("_s")) return seconds(value);
  if (column.endsWith("bytes")) return bytes(value);
  if (column.endsWith("share")) return percent(value);
  return Number.isInteger(value) ? count(value) : digits(value);
}

const head = (column) => column.replace(/_(s|bytes|share)$/, "").replaceAll("_", " ");

function rowsTable(view) {
  const numeric = view.columns.map((_, i) => i).filter((i) => view.rows.every((row) => typeof row[view.columns[i]] !== "string"));
  const of = (rows, caption) => table(caption, view.columns.map(head), rows.map((row) => view.columns.map((c) => cell(c, row[c]))), numeric);
  const first = of(view.rows.slice(0, kShown), view.title);
  if (view.rows.length <= kShown) return [first];
  return [first, h("details", {}, h("summary", {}, `All ${count(view.rows.length)} rows`), of(view.rows, `${view.title}, all`))];
}

// A series for each kind, over what all share.
function byKind(rows, x, value) {
  const kinds = [...new Set(rows.map((row) => row.kind))], places = [...new Set(rows.map((row) => row[x]))].sort((a, b) => a - b);
  const at = new Map(rows.map((row) => [`${row.kind} ${row[x]}`, row[value]]));
  return { x: places, series: kinds.map((label) => ({ label, values: places.map((p) => at.get(`${label} ${p}`) ?? 0) })) };
}

const kPercentiles = [0, 10, 25, 50, 75, 90, 99, 100];

// The pictures of those views that have one.
const kPictures = {
  access_intervals: (view) => lines({ title: "Intervals between uses, by percentile", x: kPercentiles, xLabel: "percent of the intervals", yLabel: "at most", xFormat: (p) => `${p} %`,
    yFormat: seconds, points: true, series: view.rows.map((row) => ({ label: row.kind, values: kPercentiles.map((p) => row[`p${p}_s`]) })) }),
  access_interval_density: (view) => lines({ title: "Outline of a violin for each kind", ...byKind(view.rows, "to_s", "share"), xLabel: "interval up to", yLabel: "share of the intervals",
    xFormat: seconds, yFormat: percent, log: { x: true } }),
  fragmentation: (view) => lines({ title: "Memory over an iteration", x: view.rows.map((row) => row.at_s), xLabel: "time", yLabel: "bytes", xFormat: seconds, yFormat: bytes,
    series: [["held_bytes", "held by the allocator"], ["live_bytes", "in tensors"], ["largest_free_bytes", "the largest hole"]].map(([key, label]) => ({ label, values: view.rows.map((row) => row[key]) })) }),
  reuse_distances: (view) => lines({ title: "Uses that so much memory would hit", x: view.rows.map((row) => row.up_to_bytes), xLabel: "memory", yLabel: "share of the uses", xFormat: bytes,
    yFormat: percent, top: 1, log: { x: true }, series: [{ label: "cumulative", values: view.rows.map((row) => row.cumulative_share) }] }),
  lifetimes: (view) => addresses(view.rows),
};

// A rectangle for each tensor: from when to when it has which addresses.
function addresses(rows) {
  const kHeight = 320, kinds = [...new Set(rows.map((row) => row.kind))];
  const tensors = rows.map((row) => ({ ...row, from: Number(row.address) }));
  const low = Math.min(...tensors.map((t) => t.from)), high = Math.max(...tensors.map((t) => t.from + t.bytes));
  const until = Math.max(...tensors.map((t) => t.until_s), 1e-12);
  const canvas = h("canvas", { role: "img", "aria-label": `Lifetimes of ${rows.length} tensors by address, over ${seconds(until)} and ${bytes(high - low)}` });
  const draw = (width) => {
    const pen = penOf(canvas, width, kHeight);
    for (const t of tensors) {
      pen.fillStyle = color(`c${(kinds.indexOf(t.kind) % 8) + 1}`);
      pen.fillRect((t.from_s / until) * width, kHeight * (1 - (t.from + t.bytes - low) / (high - low)),
        Math.max(1, ((t.until_s - t.from_s) / until) * width), Math.max(1, (t.bytes / (high - low)) * kHeight));
    }
  };
  const box = h("figure", { class: "chart" }, h("figcaption", {}, `Lifetimes by address: ${seconds(until)} to the right, ${bytes(high - low)} upwards; by kind: ${kinds.join(", ")}`), canvas);
  onWidth(box, draw);
  onSchemeChange(() => draw(box.clientWidth));
  return box;
}

export function viewsSection(analysis, i) {
  return section(`memory${i + 1}`, `Memory of ${analysis.workload}`, (analysis.unknowns ?? []).join(" "),
    analysis.views.flatMap((view) => [
      h("h3", {}, head(view.view)), view.finding ? h("p", {}, view.finding) : null,
      view.rows.length && kPictures[view.view] ? kPictures[view.view](view) : null,
      ...(view.rows.length ? rowsTable(view) : [h("p", {}, "No rows.")])]));
}
