// Writes numbers, durations and times as text.

const digits = (x) => (x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2));

function scaled(value, units, step) {
  let i = 0;
  while (value >= step * 0.9995 && i < units.length - 1) [value, i] = [value / step, i + 1];
  return [value, units[i]];
}

const parts = {
  count: (x) => {
    if (x === 0 || (Number.isInteger(x) && x < 1000)) return [String(x), ""];
    const [v, unit] = scaled(x, ["", "k", "M", "G"], 1000);
    return [(v < 0.01 ? "<0.01" : digits(v)) + unit, ""];
  },
  micros: (x) => { const [v, unit] = scaled(x, ["µs", "ms", "s"], 1000); return [digits(v), unit]; },
  bytes: (x) => { const [v, unit] = scaled(x, ["B", "KiB", "MiB", "GiB", "TiB"], 1024); return [unit === "B" ? String(v) : digits(v), unit]; },
  percent: (x) => [x === 0 ? "0" : x < 0.01 ? "<0.01" : digits(x), "%"],
};
const show = (kind, x) => (x === null || x === undefined || Number.isNaN(x) ? "–" : parts[kind](x).join(" ").trim());
// Without zeros at the end, for numbers that somebody has chosen.
const plain = (kind, x) => show(kind, x).replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
const seconds = (s) => show("micros", s * 1e6);

function ago(s) {
  if (s < 60) return `${Math.max(0, Math.floor(s))} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

function clock(unix) {
  const date = new Date(unix * 1000);
  const time = date.toTimeString().slice(0, 8);
  return Date.now() / 1000 - unix < 43200 ? time : `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, "0")}-${String(date.getDate()).padStart(2, "0")} ${time}`;
}
