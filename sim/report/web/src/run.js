// One run: summary, time split, series, tensors, stalls.
import { choice, h, table } from "./dom.js";
import { byteRate, bytes, count, percent, rate, seconds, times } from "./format.js";
import { gantt } from "./gantt.js";
import { lines } from "./lines.js";

const kCauses = [
  ["fault_cpu_s", "fault handling on the CPU"], ["eviction_s", "evictions"], ["copy_in_s", "copies in"],
  ["link_wait_s", "waiting for a shared link"], ["compute_s", "compute"], ["transfer_s", "explicit copies, prefetches"],
  ["collective_s", "collectives"], ["idle_s", "idle"],
];

export function section(id, title, note, ...content) {
  return h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title),
    note ? h("p", { class: "note" }, note) : null, ...content);
}

function card(label, value, small) {
  return h("div", { class: "card" }, h("div", { class: "label" }, label), h("div", { class: "value" }, value),
    small ? h("div", { class: "small" }, small) : null);
}

// Where the true time is to be expected; nothing in results that have no band.
const band = ({ trust }) => trust?.band && `${percent(trust.band.level)} band ${seconds(trust.band.low_s)} to ${seconds(trust.band.high_s)}`;

// The slowdown against managed memory that is large enough; nothing where it is the same within 1 %.
const inCore = (s) => s.in_core_slowdown && s.slowdown && Math.abs(s.in_core_slowdown / s.slowdown - 1) > 0.01
  ? `${times(s.in_core_slowdown)} against managed memory there` : null;

// What ran, and on what, as the head of `uvmsim run` says it; nothing in results of older versions.
function whatRan({ setup: of }) {
  if (!of) return null;
  const rows = [
    ["machine", `${of.machine}: ${of.gpus} x ${of.gpu}, ${bytes(of.usable_memory_bytes)} usable of ${bytes(of.gpu_memory_bytes)}`],
    ["workload", `${of.workload}: ${[...of.parameters, `allocator ${of.allocator}`, `${of.memory} memory`].join(", ")}`],
    ...(of.overrides.length ? [["changed", of.overrides.join(" ")]] : []),
  ];
  return h("dl", {}, rows.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]));
}

function summary({ result }) {
  const { summary: s, run } = result;
  const t = s.totals;
  const throughput = (v) => (v ? `${Number(v.value.toPrecision(4))} ${v.unit}` : "–");
  return section("summary", "Summary", run.description, whatRan(run),
    result.outcome === "completed" ? null : h("p", { class: "bad", role: "alert" }, `${result.outcome}: ${result.detail}`),
    h("div", { class: "cards" },
      card("iteration", seconds(s.duration_s), [band(result), s.cuda_malloc_duration_s ? `${seconds(s.cuda_malloc_duration_s)} with cudaMalloc` : null]
        .filter(Boolean).join("; ") || null),
      card("slowdown", times(s.slowdown), ["against cudaMalloc on GPUs that are large enough", inCore(s)].filter(Boolean).join("; ")),
      card("throughput", throughput(s.throughput), s.cuda_malloc_throughput ? `${throughput(s.cuda_malloc_throughput)} with cudaMalloc` : null),
      card("memory asked for", bytes(s.peak_live_bytes), `${bytes(s.reserved_bytes)} reserved, per process`),
      card("to the GPUs", bytes(t.h2d_bytes), `${percent(t.h2d_bytes ? t.dead_h2d_bytes / t.h2d_bytes : 0)} of it dead`),
      card("to the host", bytes(t.d2h_bytes), `${count(t.evicted_chunks)} chunks evicted`),
      card("fault batches", count(t.fault_batches), `${count(t.fault_entries)} entries`),
      card("GPUs", String(s.gpus.length), `mean of ${run.measured_iterations} iterations after ${run.warmup_iterations} of warm-up`)));
}

function timeSplit({ result }) {
  const gpus = result.summary.gpus;
  const longest = Math.max(...gpus.map((g) => g.duration_s), 1e-12);
  const bars = gpus.map((g) => h("div", { class: "bar-row" }, h("span", { class: "bar-name" }, g.name),
    h("div", { class: "bar", style: { width: `${(g.duration_s / longest) * 100}%` } },
      kCauses.map(([key, label], i) => {
        const share = g.duration_s ? g.time_split_s[key] / g.duration_s : 0;
        return share > 0 ? h("span", { class: `part s${i + 1}`, style: { width: `${share * 100}%` }, title: `${label}: ${seconds(g.time_split_s[key])}, ${percent(share)}` }) : null;
      }))));
  const t = result.summary.totals;
  const rows = kCauses.map(([key, label]) => [label, seconds(t.time_split_s[key] / Math.max(gpus.length, 1)),
    percent(t.gpu_s ? t.time_split_s[key] / t.gpu_s : 0)]);
  const legend = h("ul", { class: "legend" }, kCauses.map(([, label], i) => h("li", {}, h("i", { class: `s${i + 1}` }), label)));
  return section("time", "Where the time went", "Each instant of a GPU has one cause; the parts add up to the iteration.",
    h("div", { class: "bars", "aria-hidden": "true" }, bars), legend,
    table("Mean of the GPUs", ["cause", "time", "share"], rows, [1, 2]));
}

const times_of = (o, length) => Array.from({ length }, (_, i) => i * o.step_s);

function gpuSections(run) {
  const o = run.observations;
  const marks = (gpu) => o.iterations.filter((m) => m.gpu === gpu).map((m) => m.at_s);
  const holder = h("div");
  const show = (gpu) => {
    const g = o.gpus[gpu];
    const x = times_of(o, g.resident_bytes.mean.length);
    const base = { x, xLabel: "simulated time", xFormat: seconds, marks: marks(gpu) };
    const of = (label, s) => ({ label, values: s.mean, peaks: s.peak });
    const process = Math.min(gpu, o.reserved_bytes.length - 1);
    const memory = [of("resident", g.resident_bytes)];
    if (process >= 0) memory.push(of("reserved by the allocator", o.reserved_bytes[process]));
    const usable = run.result.run.setup?.usable_memory_bytes;
    if (usable) memory.push({ label: "usable memory of the GPU", values: x.map(() => usable), limit: true });
    holder.replaceChildren(
      section("memory", "Memory over time", "Managed bytes on the GPU, and what the process holds from the driver. Pale bands reach up to the peak; the dashed line is the GPU's usable memory; thin lines mark where iterations begin.",
        lines({ ...base, title: `gpu${gpu}: bytes`, yLabel: "bytes", yFormat: bytes, series: memory })),
      section("rates", "Faults and migration", null,
        lines({ ...base, title: `gpu${gpu}: fault entries per second`, yLabel: "fault entries per second", yFormat: rate, series: [of("fault entries", g.fault_entries_per_s)] }),
        lines({ ...base, title: `gpu${gpu}: bytes moved by UVM per second`, yLabel: "bytes per second", yFormat: byteRate,
          series: [of("to the GPU", g.bytes_in_per_s), of("to the host", g.bytes_out_per_s)] })));
  };
  show(0);
  const names = o.gpus.map((_, i) => `gpu${i}`);
  return h("div", {}, names.length > 1 ? choice("GPU", names, show) : null, holder);
}

function links({ observations: o }) {
  if (o.links.length === 0) return null;
  const hops = new Map();
  for (const link of o.links) {
    const at = link.name.lastIndexOf(" ");
    const hop = link.name.slice(0, at);
    hops.set(hop, [...(hops.get(hop) ?? []), { ...link, direction: link.name.slice(at + 1) }]);
  }
  const busiest = (directions) => Math.max(...directions.map((d) => Math.max(...d.bytes_per_s.mean) / d.bandwidth));
  const names = [...hops.keys()].sort((a, b) => busiest(hops.get(b)) - busiest(hops.get(a)));
  const holder = h("div");
  const show = (i) => {
    const directions = hops.get(names[i]);
    const share = (values, bandwidth) => values.map((v) => v / bandwidth);
    holder.replaceChildren(lines({
      title: `${names[i]}: share of the bandwidth in use`, x: times_of(o, directions[0].bytes_per_s.mean.length), xLabel: "simulated time", xFormat: seconds,
      yLabel: "share of the bandwidth", yFormat: percent, top: 1.05, marks: o.iterations.filter((m) => m.gpu === 0).map((m) => m.at_s),
      series: directions.map((d) => ({ label: d.direction === "down" ? "down, to the GPUs" : "up, to the host",
        values: share(d.bytes_per_s.mean, d.bandwidth), peaks: share(d.bytes_per_s.peak, d.bandwidth) })),
    }));
  };
  show(0);
  return section("links", "Link utilisation", "Per direction, of the bandwidth that direction has alone; the busiest link first.",
    names.length > 1 ? choice("Link", names, show) : null, holder);
}

function stallBars(caption, rows, parts) {
  const longest = Math.max(...rows.map((r) => r.total), 1e-12);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", { class: "stalls" }, h("caption", {}, caption),
      h("tbody", {}, rows.map((row) => h("tr", {}, h("th", { scope: "row", title: row.name }, row.name),
        h("td", { class: "wide" }, h("div", { class: "bar", style: { width: `${(row.total / longest) * 100}%` } },
          parts.map(([key, label, shade]) => (row[key] > 0 ? h("span", { class: `part s${shade}`, title: `${label}: ${seconds(row[key])}`,
            style: { width: `${(row[key] / row.total) * 100}%` } }) : null)))),
        h("td", { class: "number" }, seconds(row.total)), h("td", { class: "number" }, row.note))))));
}

function stalls({ observations: o }) {
  const kernels = o.kernels.map((k) => ({ ...k, total: k.fault_cpu_s + k.eviction_s + k.copy_in_s + k.link_wait_s, note: `${count(k.count)} runs` }))
    .filter((k) => k.total > 0).slice(0, 20);
  const tensors = o.tensors.filter((t) => t.batch_s > 0).slice(0, 20)
    .map((t) => ({ name: t.label, total: t.batch_s, batch_s: t.batch_s, note: `${count(t.faults)} faults` }));
  if (kernels.length === 0) return null;
  return section("stalls", "Top stalls", "All GPUs, the whole run. The time of a fault batch is divided equally among its faults; a fault belongs to the tensor that the running kernel touched there.",
    stallBars("By kernel", kernels, kCauses.slice(0, 4).map(([key, label], i) => [key, label, i + 1])),
    tensors.length ? stallBars("By tensor: time of their fault batches", tensors, [["batch_s", "fault batches", 1]]) : null);
}

function assumptions({ result }) {
  const list = result.run.assumptions ?? [];
  if (list.length === 0) return null;
  return section("assumptions", "What it rests on", null, h("details", {}, h("summary", {}, `${list.length} values that nobody measured on this machine`),
    table("Assumptions", ["key", "value", "status", "source"], list.map((a) => [a.key, a.value, a.status, a.source]))));
}

export function runSections(run) {
  const parts = [summary(run), timeSplit(run)];
  if (run.observations) parts.push(gpuSections(run), links(run), gantt(run.observations), stalls(run));
  parts.push(assumptions(run));
  return parts.filter((part) => part !== null);
}

// Several runs side by side.
export function runsTable(runs) {
  return section("runs", "Runs", null, table("One row per run", ["run", "iteration", "cudaMalloc", "slowdown", "to GPUs", "to host", "batches"],
    runs.map(({ name, result: { summary: s } }) => [name, seconds(s.duration_s), seconds(s.cuda_malloc_duration_s), times(s.slowdown),
      bytes(s.totals.h2d_bytes), bytes(s.totals.d2h_bytes), count(s.totals.fault_batches)]), [1, 2, 3, 4, 5, 6]));
}
