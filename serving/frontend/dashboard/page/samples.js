// Keeps the counters of the last five minutes, once a second, and derives rates and quantiles from them.

const KEPT = 300, WINDOW = 10;
let now = null;            // the latest overview
let timeline = { states: [], loads: [], events: [] };
let ticks = [];            // {time, versions: Map(key -> counts), process, batches}

const keyOf = (model, version) => JSON.stringify([model, version]);
const nameOf = (key) => JSON.parse(key).join(" · ");

function remember(overview) {
  if (now && now.started !== overview.started) ticks = [];
  const versions = new Map();
  for (const model of overview.models) {
    for (const v of model.versions) {
      if (v.traffic) versions.set(keyOf(model.name, v.version), { ...v.traffic, batches: v.batches });
    }
  }
  ticks.push({ time: overview.time, versions, process: overview.process });
  while (ticks.length && ticks[0].time < overview.time - KEPT) ticks.shift();
  now = overview;
}

const sum = (list) => list.reduce((a, b) => a + b, 0);
const errorsOf = (counts) => sum(Object.values(counts.errors));

// The index of the tick that the window which ends at tick i begins with.
function windowStart(i) {
  let j = i;
  while (j > 0 && ticks[i].time - ticks[j].time < WINDOW - 0.5) --j;
  return j;
}

// By how much a counter rose. One that fell is that of a version that was loaded anew, from zero.
const rise = (late, early = 0) => (late < early ? late : late - early);

// What happened in the window that ends at tick i, of the versions with these keys; null if that is not known.
function measure(keys, i) {
  const j = windowStart(i);
  const span = ticks[i].time - ticks[j].time;
  if (span <= 0) return null;
  const result = { requests: 0, errors: 0, buckets: [], phases: {}, runs: 0, rows: 0, span };
  for (const key of keys) {
    const late = ticks[i].versions.get(key);
    const early = ticks[j].versions.get(key);
    if (!late) continue;
    result.requests += rise(late.requests, early?.requests);
    result.errors += rise(errorsOf(late), early && errorsOf(early));
    result.runs += rise(late.batches?.runs ?? 0, early?.batches?.runs);
    result.rows += rise(late.batches?.rows ?? 0, early?.batches?.rows);
    late.phases.forEach(([name, n, micros], k) => {
      const [count, time] = result.phases[name] ?? [0, 0];
      result.phases[name] = [count + rise(n, early?.phases[k]?.[1]), time + rise(micros, early?.phases[k]?.[2])];
    });
    late.latency.forEach((n, k) => { result.buckets[k] = (result.buckets[k] || 0) + rise(n, early?.latency[k]); });
  }
  return result;
}

// The quantile of a histogram, interpolated within its bucket; null without samples.
function quantile(buckets, q, bounds = now.latency_bounds) {
  const total = sum(buckets);
  if (!total) return null;
  let rank = q * total;
  for (let k = 0; k < buckets.length; ++k) {
    if (rank <= buckets[k] && buckets[k] > 0) {
      const low = k > 0 ? bounds[k - 1] : 0, high = k < bounds.length ? bounds[k] : low;
      return low + (high - low) * (rank / buckets[k]);
    }
    rank -= buckets[k] || 0;
  }
  return bounds[bounds.length - 1];
}

// Seconds that charts show: a minute at first, and at most all that is kept.
const shownSpan = () => (ticks.length ? Math.min(KEPT, Math.max(60, ticks[ticks.length - 1].time - ticks[0].time)) : 60);

const shown = (name) => !$("filter").value || $("filter").value === name;
const shownKeys = () => now.models.filter((m) => shown(m.name)).flatMap((m) => m.versions.map((v) => keyOf(m.name, v.version)));
