// Draws lines over the last five minutes.

const colors = new Map();  // by series, so that a version keeps its colour
const colorOf = (key) => { if (!colors.has(key)) colors.set(key, `var(--c${colors.size % 6})`); return colors.get(key); };

class Chart {
  constructor(parent, title, kind) {
    this.kind = kind;
    this.title = title;
    this.y = [0, 1, 2].map(() => el("span", {}, " "));
    this.lines = el("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" });
    this.none = el("div", { class: "none" }, "No requests yet");
    this.plot = el("div", { class: "plot", role: "img", "aria-label": title, onpointermove: (e) => this.point(e), onpointerleave: () => this.point(null) }, el("div", { class: "y" }, ...this.y), this.lines, this.none);
    this.left = el("span", {}, " ");
    this.legend = el("ul", { class: "legend" });
    parent.append(el("figure", { class: "card" }, el("h2", {}, title), this.plot, el("div", { class: "x" }, this.left, el("span", {}, "now")), this.legend));
    this.series = [];
  }

  // `series`: {key, name, color, values}, a value for each tick or null.
  update(series) {
    this.series = series;
    const top = this.top = niceTop(Math.max(0, ...series.flatMap((s) => s.values.filter((v) => v !== null))), this.kind);
    const has = series.some((s) => s.values.some((v) => v !== null));
    this.none.hidden = has;
    [top, top / 2, 0].forEach((v, i) => setText(this.y[i], has ? plain(this.kind, v) : " "));
    const end = ticks.length ? ticks[ticks.length - 1].time : 0;
    const at = (i) => 100 - ((end - ticks[i].time) / shownSpan()) * 100;
    const paths = [{ key: "grid", class: "grid", d: "M0 0H100M0 50H100" }];
    for (const s of series) {
      let d = "", pen = false;
      s.values.forEach((v, i) => {
        if (v === null) { pen = false; return; }
        d += `${pen ? "L" : "M"}${at(i).toFixed(2)} ${(100 - (v / top) * 100).toFixed(2)}`;
        pen = true;
      });
      paths.push({ key: s.key, stroke: s.color, d });
    }
    if (this.cursor !== undefined && ticks[this.cursor]) paths.push({ key: "cursor", class: "cursor", d: `M${at(this.cursor)} 0V100` });
    keyed(this.lines, paths, (p) => p.key, (p) => el("path", { class: p.class }), (node, p) => {
      node.setAttribute("d", p.d);
      if (p.stroke) node.style.stroke = p.stroke;
    });
    const index = this.cursor !== undefined && ticks[this.cursor] ? this.cursor : ticks.length - 1;
    keyed(this.legend, series, (s) => s.key, () => el("li", {}, el("i", { class: "key" }), el("span"), el("b")), (node, s) => {
      node.children[0].style.background = s.color;
      setText(node.children[1], s.name);
      node.children[1].title = s.name;
      setText(node.children[2], show(this.kind, s.values[index]));
    });
    setText(this.left, this.cursor !== undefined && ticks[this.cursor] ? `at ${clock(ticks[this.cursor].time)}` : `${ago(shownSpan())} ago`);
    this.plot.setAttribute("aria-label", `${this.title}: ${series.map((s) => `${s.name} ${show(this.kind, s.values[s.values.length - 1])}`).join(", ") || "nothing yet"}`);
  }

  point(event) {
    this.cursor = undefined;
    if (event && ticks.length) {
      const box = this.lines.getBoundingClientRect();
      const time = ticks[ticks.length - 1].time - shownSpan() * (1 - (event.clientX - box.left) / box.width);
      let best = 0;
      ticks.forEach((t, i) => { if (Math.abs(t.time - time) < Math.abs(ticks[best].time - time)) best = i; });
      this.cursor = best;
    }
    this.update(this.series);
  }
}

function niceTop(max, kind) {
  if (!max) return kind === "bytes" ? 1024 : kind === "percent" ? 1 : kind === "micros" ? 1000 : 1;
  const unit = kind === "bytes" ? 1024 ** Math.floor(Math.log(max) / Math.log(1024)) : 1;
  const power = 10 ** Math.floor(Math.log10(max / unit));
  return [1, 2, 4, 6, 10].map((f) => f * power * unit).find((t) => t >= max);
}

const charts = {
  rate: new Chart($("charts"), "Requests per second", "count"),
  latency: new Chart($("charts"), "Latency", "micros"),
  errors: new Chart($("charts"), "Failed requests", "percent"),
  phases: new Chart($("charts-more"), "Mean time of a request", "micros"),
  batch: new Chart($("charts-more"), "Rows in a batch, mean", "count"),
  memory: new Chart($("charts-more"), "Memory", "bytes"),
  cpu: new Chart($("charts-more"), "Cores in use", "count"),
};

const PHASE_COLORS = [["decode", "var(--c2)"], ["wait", "var(--c5)"], ["batch", "var(--c3)"], ["run", "var(--c0)"], ["encode", "var(--c1)"]];
const overTicks = (f) => ticks.map((_, i) => f(i));

// Lines of the busiest versions; all others share one.
function byVersion(keys, valueOf) {
  const last = ticks.length - 1;
  const busy = keys.map((key) => [key, measure([key], last)?.requests ?? 0, ticks[last].versions.get(key)?.requests ?? 0]).filter((k) => k[2] > 0).sort((a, b) => b[1] - a[1] || b[2] - a[2]);
  const lines = busy.slice(0, 5).map(([key]) => ({ key, name: nameOf(key), color: colorOf(key), values: overTicks((i) => valueOf(measure([key], i))) }));
  const others = busy.slice(5).map(([key]) => key);
  if (others.length) lines.push({ key: "others", name: `${others.length} others`, color: "var(--c6)", values: overTicks((i) => valueOf(measure(others, i))) });
  return lines;
}

function drawCharts() {
  const keys = shownKeys();
  charts.rate.update(byVersion(keys, (m) => m && m.requests / m.span));
  charts.errors.update(byVersion(keys, (m) => (m && m.requests ? (100 * m.errors) / m.requests : null)));
  const all = ticks.map((_, i) => measure(keys, i));
  charts.latency.update([["p50", 0.5, "var(--c0)"], ["p90", 0.9, "var(--c2)"], ["p99", 0.99, "var(--c1)"]].map(([name, q, color]) => ({ key: name, name, color, values: all.map((m) => m && quantile(m.buckets, q)) })));
  charts.phases.update(PHASE_COLORS.map(([name, color]) => ({ key: name, name, color, values: all.map((m) => (m?.phases[name]?.[0] ? m.phases[name][1] / m.phases[name][0] : null)) })));
  setText(charts.batch.none, keys.some((key) => ticks[ticks.length - 1].versions.get(key)?.batches) ? "No batches yet" : "Requests are not batched");
  charts.batch.update(byVersion(keys, (m) => (m?.runs ? m.rows / m.runs : null)));
  charts.memory.update([{ key: "rss", name: "resident", color: "var(--c0)", values: overTicks((i) => ticks[i].process.resident_memory_bytes) }]);
  charts.cpu.update([{ key: "cpu", name: `of ${now.process.cores}`, color: "var(--c0)", values: overTicks((i) => {
    const j = windowStart(i);
    return j < i ? (ticks[i].process.cpu_seconds - ticks[j].process.cpu_seconds) / (ticks[i].time - ticks[j].time) : null;
  }) }]);
}
