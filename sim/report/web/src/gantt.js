// Tensors of one iteration: from first to last use, filled as far as they are on the GPU.
import { color, h, onSchemeChange, onWidth, penOf } from "./dom.js";
import { bytes, percent, seconds } from "./format.js";
import { section } from "./run.js";

const kRow = 6;
const kAxis = 22;

export function gantt({ residency: r }) {
  if (!r || r.tensors.length === 0) return null;
  const length = Math.max(r.end_s - r.begin_s, 1e-12);
  const canvas = h("canvas", { tabindex: "0", role: "img",
    "aria-label": `Residency of ${r.tensors.length} tensors over one iteration. Up and down choose a tensor, left and right a time.` });
  const told = h("output", { class: "told", "aria-live": "polite" }, "Choose a tensor: with the pointer, or with the arrow keys.");
  const at = { row: -1, time: 0 };
  const height = r.tensors.length * kRow + kAxis;
  const x = (t, width) => (t / length) * width;

  const draw = () => {
    const width = canvas.parentElement?.clientWidth ?? 0;
    if (width === 0) return;
    const ctx = penOf(canvas, width, height);
    r.tensors.forEach((tensor, row) => drawTensor(ctx, tensor, row, width));
    ctx.fillStyle = color("muted");
    ctx.font = "12px system-ui, sans-serif";
    for (let i = 0; i <= 4; ++i) {
      ctx.textAlign = i === 0 ? "left" : i === 4 ? "right" : "center";
      ctx.fillText(seconds((length * i) / 4), (width * i) / 4, height - 5);
    }
    if (at.row < 0) return;
    ctx.strokeStyle = color("text");
    ctx.strokeRect(0.5, at.row * kRow + 0.5, width - 1, kRow - 1);
    ctx.fillStyle = color("text");
    ctx.fillRect(x(at.time, width), 0, 1, height - kAxis);
  };
  const drawTensor = (ctx, tensor, row, width) => {
    const top = row * kRow;
    const left = x(tensor.first_use_s, width);
    ctx.fillStyle = color("grid");
    ctx.fillRect(left, top, Math.max(1, x(tensor.last_use_s, width) - left), kRow - 1);
    ctx.fillStyle = color("c1");
    r.sampled_s.forEach((time, i) => {
      const level = Number(tensor.resident[i] ?? 0);
      const next = r.sampled_s[i + 1] ?? length;
      if (level === 0 || next < tensor.first_use_s || time > tensor.last_use_s) return;
      const from = Math.max(time, tensor.first_use_s);
      ctx.globalAlpha = 0.25 + (level / 9) * 0.75;
      ctx.fillRect(x(from, width), top, Math.max(0.5, x(Math.min(next, tensor.last_use_s) - from, width)), kRow - 1);
    });
    ctx.globalAlpha = 1;
  };
  const tell = () => {
    const tensor = r.tensors[at.row];
    const sample = r.sampled_s.findLastIndex((time) => time <= at.time);
    const level = Number(tensor.resident[Math.max(sample, 0)] ?? 0);
    told.textContent = `${tensor.label}, ${bytes(tensor.bytes)}: used from ${seconds(tensor.first_use_s)} to ${seconds(tensor.last_use_s)}; ` +
      `at ${seconds(at.time)} ${level === 0 ? "none of it is" : `up to ${percent(level / 9)} are`} on the GPU`;
    draw();
  };
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top) / kRow);
    if (row < 0 || row >= r.tensors.length) return;
    at.row = row;
    at.time = ((event.clientX - box.left) / box.width) * length;
    tell();
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
    if (!step) return;
    event.preventDefault();
    at.row = Math.min(r.tensors.length - 1, Math.max(0, at.row + step[0]));
    const { first_use_s: first, last_use_s: last } = r.tensors[at.row];
    at.time = Math.min(last, Math.max(first, at.time + (step[1] * length) / 100));
    tell();
  });
  const holder = h("div", { class: "gantt" }, canvas);
  onWidth(holder, draw);
  onSchemeChange(draw);
  return section("tensors", "Tensors",
    `The last iteration on gpu${r.gpu}, a row per tensor in order of first use: from first to last use by kernels, darker the more of it is on the GPU. ` +
    "A sample of those that hold nine tenths of the bytes.", told, holder);
}
