// Numbers for people.

function scaled(value, units, base = 1000) {
  let i = 0;
  while (Math.abs(value) >= base && i + 1 < units.length) { value /= base; ++i; }
  return `${digits(value)} ${units[i]}`.trimEnd();
}

// Four significant digits, without trailing zeros.
export function digits(value) {
  if (value === 0) return "0";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(4)));
}

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1 || size === 0) return `${digits(value)} s`;
  if (size >= 1e-3) return `${digits(value * 1e3)} ms`;
  return size >= 1e-6 ? `${digits(value * 1e6)} µs` : `${digits(value * 1e9)} ns`;
}
export const bytes = (value) => scaled(value, ["B", "KB", "MB", "GB", "TB", "PB"]);
export const byteRate = (value) => `${bytes(value)}/s`;
export const rate = (value) => `${scaled(value, ["", "k", "M", "G"])}/s`;
export const percent = (value) => `${digits(Math.round(value * 1000) / 10)} %`;
export const count = (value) => Math.round(value).toLocaleString("en");
export const times = (value) => (value === null || value === undefined ? "–" : `${digits(value)}×`);
