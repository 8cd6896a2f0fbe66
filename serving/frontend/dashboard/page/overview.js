// The view of tiles, charts and the table of versions.

function drawTiles() {
  const last = ticks.length - 1;
  const m = measure(shownKeys(), last);
  const q = (p) => (m ? quantile(m.buckets, p) : null);
  const versions = now.models.filter((x) => shown(x.name)).flatMap((x) => x.versions);
  const ready = versions.filter((v) => v.state === "AVAILABLE");
  const reserved = sum(ready.map((v) => v.heap_bytes + v.mapped_bytes));
  const cpu = charts.cpu.series[0]?.values[last];
  const tiles = [
    ["Requests/s", "count", m && m.requests / m.span, `${show("count", sum(versions.map((v) => v.traffic?.requests ?? 0)))} in all`],
    ["p50", "micros", q(0.5), "last 10 s"],
    ["p99", "micros", q(0.99), "last 10 s"],
    ["Errors", "percent", m && m.requests ? (100 * m.errors) / m.requests : null, m && m.errors ? `${m.errors} in 10 s` : "none in 10 s"],
    ["In flight", "count", sum(versions.map((v) => v.traffic?.in_flight ?? 0)), `${show("count", sum(versions.map((v) => v.batches?.waiting ?? 0)))} in queues`],
    ["Serving versions", "count", ready.length, `of ${now.models.length} ${now.models.length === 1 ? "model" : "models"}`],
    ["Memory", "bytes", now.process.resident_memory_bytes, `versions: ${show("bytes", reserved)}${now.memory_limit ? ` of ${show("bytes", now.memory_limit)}` : ""}`],
    ["Threads", "count", now.process.threads, cpu === null || cpu === undefined ? "" : `${digits(cpu)} of ${now.process.cores} cores`],
  ];
  keyed($("tiles"), tiles, (t) => t[0], (t) => el("div", {}, el("dt", {}, t[0]), el("dd"), el("p")), (node, [, kind, value, note]) => {
    const [number, unit] = value === null || value === undefined ? ["–", ""] : parts[kind](value);
    if (node.dataset.text !== number + unit) {
      node.dataset.text = number + unit;
      node.children[1].replaceChildren(number, el("small", {}, unit));
    }
    setText(node.children[2], note);
  });
}

const kinds = { START: "warn", LOADING: "warn", AVAILABLE: "good", UNLOADING: "warn", END: "", FAILED: "bad" };
const stateName = (state, health) => (state === "END" && health ? "FAILED" : state);

function drawVersions() {
  const rows = now.models.filter((m) => shown(m.name)).flatMap((model) => model.versions.map((version) => ({ model, version })));
  $("versions-empty").hidden = rows.length > 0;
  if (!rows.length) $("versions-empty").replaceChildren(el("strong", {}, "No versions."), now.models.length ? "No folder of a version was found at the models’ base paths yet." : "The configuration names no model.");
  keyed($("versions"), rows, (r) => keyOf(r.model.name, r.version.version), () => cells("Model", "Version|two", "State|row", "Requests/s|n", "p50|n", "p99|n", "Errors|n", "In flight|n", "Memory|n"), (row, { model, version }) => {
    const key = row.dataset.key;
    const m = measure([key], ticks.length - 1);
    const [name, number, state, ...rest] = row.children;
    if (name.textContent !== model.name) name.replaceChildren(el("span", { class: "name" }, model.name));
    const rollout = now.rollouts.find((r) => r.model === model.name);
    const tags = Object.entries(model.labels).filter(([, v]) => v === version.version).map(([label]) => label);
    if (rollout?.candidate_version === version.version) tags.push(`candidate, ${plain("percent", rollout.share_percent)}`);
    else if (rollout?.stable_version === version.version) tags.push("stable");
    if (number.dataset.text !== version.version + tags) {
      number.dataset.text = version.version + tags;
      number.replaceChildren(version.version, " ", ...[...new Set(tags)].map((tag) => el("span", { class: "tag" }, tag)));
    }
    if (!state.firstChild) state.append(el("div", {}, el("span"), el("span", { class: "soft" }), el("div", { class: "why" })));
    const [tag, since, why] = state.firstChild.children;
    const text = stateName(version.state, version.health);
    stateTag(tag, text, kinds[text]);
    const codes = Object.entries(version.traffic?.errors ?? {}).map(([code, n]) => `${code} ${show("count", n)}`);
    setText(since, ` ${ago(now.time - version.since)}${codes.length ? ` · errors since then: ${codes.join(", ")}` : ""}`);
    setText(why, version.health);
    const quantiles = (q) => show("micros", m && quantile(m.buckets, q));
    const bytes = version.heap_bytes + version.mapped_bytes;
    [m && version.traffic ? show("count", m.requests / m.span) : "–", quantiles(0.5), quantiles(0.99), m && m.requests ? show("percent", (100 * m.errors) / m.requests) : "–", version.traffic ? String(version.traffic.in_flight) : "–", bytes ? show("bytes", bytes) : "–"].forEach((t, i) => setText(rest[i], t));
    rest[5].title = `heap ${show("bytes", version.heap_bytes)}, mapped files ${show("bytes", version.mapped_bytes)}`;
  });
}
