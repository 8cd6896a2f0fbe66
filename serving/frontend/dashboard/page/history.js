// The view of states over time, loads and events.

const STATE_COLORS = { START: "var(--line)", LOADING: "var(--warn)", AVAILABLE: "var(--good)", UNLOADING: "var(--c2)", FAILED: "var(--bad)" };
const STAGE_COLORS = { estimate: "var(--c6)", read: "var(--c0)", import: "var(--c2)", restore_graph: "var(--c3)", init_graph: "var(--c5)", freeze: "var(--c4)", compile: "var(--c1)", prepare: "var(--c1)", warm_up: "var(--good)" };
const stageColor = (name) => STAGE_COLORS[name] || "var(--soft)";

function legend(parent, entries) {
  keyed(parent, entries, (e) => e[0], ([name, color]) => { const key = el("i", { class: "key box" }); key.style.background = color; return el("li", {}, key, el("span", {}, name)); });
}

function drawLanes() {
  const end = now.time, up = Math.max(60, end - now.started), span = Math.min(Number($("span").value) || up, up), start = end - span;
  const lanes = new Map();
  for (const s of timeline.states) {
    if (!shown(s.model)) continue;
    const key = keyOf(s.model, s.version);
    if (!lanes.has(key)) lanes.set(key, []);
    lanes.get(key).push(s);
  }
  const rows = [];
  for (const [key, states] of lanes) {
    const bars = states.map((s, i) => ({ name: stateName(s.state, s.health), from: Math.max(start, s.time), to: Math.min(end, states[i + 1]?.time ?? end), s })).filter((b) => b.to >= start && b.name !== "END");
    if (bars.length) rows.push({ key, bars });
  }
  rows.sort((a, b) => b.bars[b.bars.length - 1].s.time - a.bars[a.bars.length - 1].s.time);
  rows.splice(40);
  $("lanes-empty").hidden = rows.length > 0;
  keyed($("lanes"), rows, (r) => r.key, (r) => el("div", { class: "lane" }, el("span", { title: nameOf(r.key) }, nameOf(r.key)), el("svg", { viewBox: "0 0 1000 10", preserveAspectRatio: "none", role: "img" })), (lane, row) => {
    const svg = lane.children[1];
    svg.setAttribute("aria-label", row.bars.map((b) => `${b.name} at ${clock(b.s.time)}`).join(", "));
    keyed(svg, row.bars, (b) => String(b.s.sequence), (b) => el("rect", { y: 0, height: 10 }, el("title", {}, `${b.name} from ${clock(b.s.time)}${b.s.health ? `: ${b.s.health}` : ""}`)), (bar, b) => {
      bar.style.fill = STATE_COLORS[b.name];
      bar.setAttribute("x", ((b.from - start) / span) * 1000);
      bar.setAttribute("width", Math.max(2, ((b.to - b.from) / span) * 1000));
    });
  });
}

function drawTimeline() {
  legend($("lane-legend"), Object.entries(STATE_COLORS));
  drawLanes();
  const loads = timeline.loads.filter((l) => shown(l.model)).reverse();
  const stages = [...new Set(loads.flatMap((l) => l.stages.map(([name]) => name)))];
  legend($("stage-legend"), stages.map((name) => [name, stageColor(name)]));
  $("loads-empty").hidden = loads.length > 0;
  keyed($("loads"), loads, (l) => String(l.number), (load) => {
    const row = cells("When", "Model", "Version", "Outcome|two", "Took|n", "Stages|row");
    const [when, model, version, outcome, took, bars] = row.children;
    when.append(clock(load.time));
    model.append(el("span", { class: "name" }, load.model));
    version.append(load.version);
    const tag = el("span");
    stateTag(tag, load.error ? "failed" : "loaded", load.error ? "bad" : "good");
    outcome.append(el("div", {}, tag, el("div", { class: "why" }, load.error)));
    took.append(seconds(load.seconds));
    const bar = el("div", { class: "stages", "aria-hidden": "true" });
    for (const [name, time] of load.stages) {
      const part = el("i", { title: `${name} ${seconds(time)}` });
      part.style.background = stageColor(name);
      part.style.width = `${(100 * time) / Math.max(load.seconds, 1e-9)}%`;
      bar.append(part);
    }
    bars.append(el("div", {}, bar, el("div", { class: "stage-text" }, load.stages.map(([name, time]) => `${name} ${seconds(time)}`).join(" · "))));
    return row;
  });
  drawEvents();
}

function drawEvents() {
  const states = timeline.states.filter((s) => shown(s.model)).map((s) => ({ time: s.time, model: s.model, version: s.version, kind: stateName(s.state, s.health), reason: s.health, key: `s${s.sequence}` }));
  const decisions = timeline.events.filter((e) => shown(e.model)).map((e, i) => ({ time: e.unix_seconds, model: e.model, version: e.version, kind: e.kind.replace("_", " ") + (e.by_hand ? ", by hand" : ""), reason: e.reason, key: `e${e.unix_seconds}${e.kind}${e.model}${i}`, rollout: true }));
  const all = [...states, ...decisions].sort((a, b) => b.time - a.time).slice(0, 300);
  $("events-empty").hidden = all.length > 0;
  keyed($("events"), all, (e) => e.key, (e) => {
    const row = cells("When", "Model", "Version", "Event", "Reason|two");
    const tag = el("span");
    stateTag(tag, e.kind, e.rollout ? (e.kind.startsWith("rolled") ? "bad" : e.kind.startsWith("promoted") ? "good" : "warn") : kinds[e.kind]);
    [clock(e.time), el("span", { class: "name" }, e.model), e.version, tag, el("span", { class: e.kind === "FAILED" ? "why" : "" }, e.reason)].forEach((x, i) => row.children[i].append(x));
    return row;
  });
}
