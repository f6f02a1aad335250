// What stands above one run: sweeps, comparisons of policies, validation.
import { choice, h, table } from "./dom.js";
import { bytes, count, digits, percent, seconds, times } from "./format.js";
import { lines } from "./lines.js";
import { section } from "./run.js";

function formatOf(metric) {
  if (metric.endsWith("_s")) return seconds;
  if (metric.endsWith("bytes")) return bytes;
  if (metric.endsWith("slowdown")) return times;
  return digits;
}

// --- sweeps

const kScales = [{ name: "linear" }, { name: "logarithmic y", y: true }, { name: "logarithmic x", x: true }, { name: "both logarithmic", x: true, y: true }];

export function sweepSection(sweep, number) {
  const points = sweep.points;
  const done = points.filter((p) => p.outcome === "completed");
  const axes = sweep.axes.filter((key) => new Set(points.map((p) => p.at[key])).size > 1);
  if (axes.length === 0) axes.push(...sweep.axes.slice(0, 1));
  const state = { metric: 0, scale: 0, x: axes.findIndex((a) => points.every((p) => !Number.isNaN(number_of(p.at[a])))), };
  if (state.x < 0) state.x = 0;
  const holder = h("div");
  const show = () => {
    const metric = sweep.metrics[state.metric];
    const xKey = axes[state.x];
    const others = axes.filter((a) => a !== xKey);
    holder.replaceChildren(curve(done, metric, xKey, others, kScales[state.scale]), ...(others.length ? [heatMap(done, metric, xKey, others)] : []));
  };
  show();
  const failed = points.length - done.length;
  const outcomes = failed ? `${count(done.length)} of ${count(points.length)} points completed; the others are listed below.` : `${count(points.length)} points.`;
  const bad = points.filter((p) => p.outcome !== "completed");
  return section(`sweep${number}`, `Sweep: ${sweep.name}`, outcomes,
    h("div", { class: "choices" }, choice("Metric", sweep.metrics, (i) => { state.metric = i; show(); }),
      axes.length > 1 ? choice("Over", axes, (i) => { state.x = i; show(); }, state.x) : null,
      choice("Axes", kScales.map((scale) => scale.name), (i) => { state.scale = i; show(); })),
    holder,
    bad.length ? h("details", {}, h("summary", {}, `${bad.length} points without a result`),
      table("Points without a result", [...sweep.axes, "outcome", "why"], bad.map((p) => [...sweep.axes.map((a) => p.at[a]), p.outcome || "not done", p.error]))) : null);
}

// "8 GiB" -> 8; NaN when there is no number.
const number_of = (text) => (/^-?[\d.]/.test(text) ? parseFloat(text) : NaN);
// Numbers inside texts count as numbers: "threshold 51" comes before "threshold 100".
const byNumber = new Intl.Collator("en", { numeric: true }).compare;
const ordered = (values) => [...new Set(values)].sort((a, b) => (number_of(a) - number_of(b)) || byNumber(a, b));
const rest = (point, keys) => keys.map((k) => `${k.split(".").at(-1)} ${point.at[k]}`).join(", ");

function curve(points, metric, xKey, others, log) {
  const places = ordered(points.map((p) => p.at[xKey]));
  const numeric = places.every((v) => !Number.isNaN(number_of(v)));
  const groups = new Map();
  for (const p of points) {
    const name = rest(p, others) || metric;
    if (!groups.has(name)) groups.set(name, new Map());
    groups.get(name).set(p.at[xKey], p.values[metric]);
  }
  const shown = [...groups].sort(([a], [b]) => byNumber(a, b)).slice(0, 8);
  const title = `${metric} over ${xKey}${groups.size > shown.length ? ` (the first 8 of ${groups.size} curves; the map below has all)` : ""}`;
  return lines({ title, x: places.map((v, i) => (numeric ? number_of(v) : i)), points: true, log: numeric ? log : { y: log.y },
    xLabel: xKey, yLabel: metric, yFormat: formatOf(metric), xFormat: (v) => (numeric ? digits(v) : places[v] ?? ""),
    series: shown.map(([label, values]) => ({ label, values: places.map((v) => values.get(v) ?? null) })) });
}

function heatMap(points, metric, xKey, others) {
  const columns = ordered(points.map((p) => p.at[xKey]));
  const rows = ordered(points.map((p) => rest(p, others)));
  const values = points.map((p) => p.values[metric]).filter((v) => v !== null);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const by = new Map(points.map((p) => [`${rest(p, others)}\n${p.at[xKey]}`, p.values[metric]]));
  const format = formatOf(metric);
  const cell = (row, column) => {
    const value = by.get(`${row}\n${column}`);
    if (value === undefined || value === null) return h("td", { class: "none" }, "–");
    const share = high > low ? (value - low) / (high - low) : 0;
    return h("td", { class: share > 0.55 ? "heat hot" : "heat", style: { background: `color-mix(in srgb, var(--c1) ${Math.round(8 + share * 87)}%, var(--card))` }, title: `${row}, ${xKey} ${column}: ${format(value)}` }, format(value));
  };
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Heat map of ${metric}` },
    h("table", { class: "map" }, h("caption", {}, `${metric}: darker is more`),
      h("thead", {}, h("tr", {}, h("th", {}, xKey), columns.map((c) => h("th", { scope: "col" }, c)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, h("th", { scope: "row" }, row), columns.map((c) => cell(row, c)))))));
}

// --- advice

// What `uvmsim advise` found: what fits, how slow it is, the short list, and why the others are not on it.
export function adviceSection(advice, i) {
  const by = new Map(advice.trials.map((t) => [t.name, t]));
  const gain = (t) => (t.gain === undefined ? "–" : `${times(t.gain)}${t.gain_low ? ` (${times(t.gain_low)} to ${times(t.gain_high)})` : ""}`);
  const fits = `${bytes(advice.need_bytes)} of ${bytes(advice.usable_bytes)}${advice.fits ? ": it fits." : `: it does not fit.${advice.largest_batch ? ` The largest batch that does is ${advice.largest_batch}.` : ""}`}`;
  const slow = advice.duration_s === null ? " It did not run through." : ` An iteration takes ${seconds(advice.duration_s)}${advice.in_core_duration_s === null ? "" : `, with enough memory ${seconds(advice.in_core_duration_s)}`}.`;
  const best = advice.advice.map((name) => by.get(name)).filter((t) => t !== undefined);
  const others = advice.trials.filter((t) => !advice.advice.includes(t.name));
  const why = (t) => (!t.tried ? "no time to try it" : !t.completed ? `did not run: ${t.error ?? ""}` : t.told_apart === false ? "inside the error of no change" : t.gain > 1 ? "faster, but by less" : "slower");
  return section(`advice${i + 1}`, `Advice: ${advice.experiment}`, fits + slow,
    best.length
      ? table("What to change, best first", ["", "speed-up", "an iteration", "change", "needs"],
        best.map((t) => [t.name, gain(t), seconds(t.duration_s), t.change, t.needs]), [1, 2])
      : h("p", {}, "Nothing that was tried helps by more than the error of its prediction."),
    others.length ? h("details", {}, h("summary", {}, `${others.length} others`),
      table("The others", ["", "speed-up", "change", "why not"], others.map((t) => [t.name, gain(t), t.change, why(t)]), [1])) : null);
}

// --- policies

const comparedFormat = (key, value) => {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (key.endsWith("_s")) return seconds(value);
  if (key.endsWith("_bytes") || key === "bytes") return bytes(value);
  return digits(value);
};

// Time over memory: a line for each policy, eight to a chart, those that are fastest at their best first.
function timeByMemory(rows) {
  const curves = rows.filter((row) => row.points?.some((p) => p.completed)).map((row) => ({ label: row.policy, need: row.need_bytes,
    values: new Map(row.points.filter((p) => p.completed).map((p) => [p.memory_bytes, p.duration_s])) }));
  if (curves.length === 0) return [];
  const least = (c) => Math.min(...c.values.values());
  curves.sort((a, b) => least(a) - least(b));
  const memories = [...new Set(rows.flatMap((row) => (row.points ?? []).map((p) => p.memory_bytes)))].sort((a, b) => a - b);
  const kShown = 8;
  const charts = [];
  for (let first = 0; first < curves.length; first += kShown) {
    const shown = curves.slice(first, first + kShown);
    charts.push(lines({ title: `Time of an iteration over the memory of each GPU${charts.length ? ", continued" : ""}`,
      x: memories, points: true, xLabel: "memory of each GPU", yLabel: "time of an iteration", xFormat: bytes, yFormat: seconds,
      series: shown.map((c) => ({ label: c.label, values: memories.map((m) => c.values.get(m) ?? null) })) }));
  }
  return [...charts, table("Time by memory", ["policy", "least memory", ...memories.map(bytes)],
    curves.map((c) => [c.label, c.need ? bytes(c.need) : "–", ...memories.map((m) => (c.values.has(m) ? seconds(c.values.get(m)) : "–"))]),
    [1, ...memories.map((_, i) => i + 2)])];
}

// The fastest of each kind of plan with each memory, by what the plans do; each opens on the command that writes its plan.
// A word of a shell's command line.
const word = (text) => (/^[\w.,:=/+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

function frontier(rows, experiment, settings) {
  const points = rows.flatMap((row) => (row.points ?? []).filter((p) => p.completed && p.family).map((p) => ({ ...p, row })));
  if (points.length === 0) return [];
  const ascending = (values) => [...new Set(values)].sort((a, b) => (a < b ? -1 : 1));
  const families = ascending(points.map((p) => p.family)), memories = ascending(points.map((p) => p.memory_bytes));
  const best = (family, memory) => points.filter((p) => p.family === family && p.memory_bytes === memory)
    .reduce((first, p) => (first && first.duration_s <= p.duration_s ? first : p), null);
  const plan = (p) => (p ? h("details", {}, h("summary", {}, `${p.row.policy}, ${seconds(p.duration_s)}`),
    h("code", {}, ["uvmsim plan", word(experiment), ...[...settings, ...(p.row.set ?? [])].map((s) => `--set ${word(s)}`),
      `--set machine.gpu.usable_memory=${p.memory_bytes / 2 ** 20}MiB`, "-o plan.json"].join(" "))) : "–");
  const plans = families.map((f) => memories.map((m) => plan(best(f, m))));
  const open = (family, memory) => {
    const details = plans[family][memory];
    details.open = true;
    details.scrollIntoView({ block: "nearest" });
    details.querySelector("summary").focus();
  };
  return [lines({ title: "Fastest of each kind of plan over the memory of each GPU; a click on a point opens its plan", x: memories, points: true,
    xLabel: "memory of each GPU", yLabel: "time of an iteration", xFormat: bytes, yFormat: seconds,
    series: families.map((f) => ({ label: f, values: memories.map((m) => best(f, m)?.duration_s ?? null) })), pick: open }),
  table("Frontier", ["kind of plan", ...memories.map(bytes)], families.map((f, n) => [f, ...plans[n]]))];
}

// Rows of scalars under their own names, whatever they are; the shortest time is marked.
export function comparisonSection(comparison) {
  const rows = comparison.rows;
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((k) => rows.some((row) => row[k] !== null && typeof row[k] !== "object"));
  const time = keys.find((k) => k === "duration_s");
  const fastest = time ? Math.min(...rows.map((row) => row[time] ?? Infinity)) : null;
  const longest = time ? Math.max(...rows.map((row) => row[time] ?? 0), 1e-12) : 0;
  const name = keys.find((k) => ["policy", "name", "planner"].includes(k)) ?? keys[0];
  return section("comparison", "Policies side by side", comparison.title,
    time ? h("div", { class: "bars", "aria-hidden": "true" }, rows.map((row) => h("div", { class: "bar-row" }, h("span", { class: "bar-name" }, String(row[name])),
      h("div", { class: "bar", style: { width: `${((row[time] ?? 0) / longest) * 100}%` } }, h("span", { class: `part ${row[time] === fastest ? "s5" : "s1"}`, style: { width: "100%" }, title: seconds(row[time]) }))))) : null,
    ...frontier(rows, comparison.title, comparison.settings ?? []),
    ...timeByMemory(rows),
    table("Policies", keys, rows.map((row) => keys.map((k) => comparedFormat(k, typeof row[k] === "object" ? null : row[k]))), keys.map((_, i) => i).filter((i) => keys[i] !== name)));
}

// --- validation

export function validationSection(validation) {
  const s = validation.summary ?? {};
  const share = (v) => (v === null || v === undefined ? "–" : `${v > 0 ? "+" : ""}${percent(v)}`);
  const families = validation.families ?? [];
  const values = validation.values ?? [];
  const note = `Simulated values next to what others measured${s.values ? `: ${s.inside} of ${s.values} values inside their tolerance, median error ${share(s.median_error)}` : ""}.`;
  return section("validation", "Validation", note,
    table("Families", ["family", "role", "values", "inside", "median error", "worst error"],
      families.map((f) => [f.title ?? f.family, f.role, String(f.values), String(f.inside), share(f.median_error), share(f.worst_error)]), [2, 3, 4, 5]),
    values.length ? h("details", {}, h("summary", {}, `All ${values.length} values`),
      table("Values", ["family", "case", "value", "predicted", "measured", "unit", "error", ""],
        values.map((v) => [v.family, v.case, v.value ?? v.metric, plain(v.predicted), plain(v.measured), v.unit, share(v.error), v.inside ? "" : v.failure || "outside"]), [3, 4, 6])) : null);
}

const plain = (v) => (typeof v === "number" ? digits(v) : v ?? "–");
