// The view with a form that sends a request.

let signatures = {};       // of the chosen model and version
let sampleShown = "";      // the text that the form has put in, so that it is replaced without asking

const TYPES = { DT_STRING: "", DT_BOOL: false };
// A tensor of any rank is taken for one with a value a row.
const numericShape = (tensor) => (tensor.tensor_shape?.unknown_rank ? [-1] : (tensor.tensor_shape?.dim ?? []).map((d) => Number(d.size)));
const shapeText = (tensor) => (tensor.tensor_shape?.unknown_rank ? "any" : `[${numericShape(tensor).map((d) => (d < 0 ? "?" : d)).join(", ")}]`);
const filled = (value, shape) => (shape.length ? Array.from({ length: Math.max(shape[0], shape[0] < 0 ? 1 : 0) }, () => filled(value, shape.slice(1))) : value);
const MAX_SAMPLE = 1 << 20;

// The body of a request of zeros: row by row if every input begins with an open dimension.
function sampleBody(name, signature) {
  if (actionOf(signature) !== "predict") return { signature_name: name, examples: [{}] };
  const inputs = Object.entries(signature.inputs);
  const zero = (tensor, shape) => (shape.reduce((n, d) => n * Math.abs(d), 1) > MAX_SAMPLE ? [] : filled(TYPES[tensor.dtype] ?? 0, shape));
  const byRow = inputs.length > 0 && inputs.every(([, t]) => numericShape(t)[0] === -1);
  if (byRow) {
    const row = inputs.map(([alias, t]) => [alias, zero(t, numericShape(t).slice(1))]);
    return { signature_name: name, instances: [row.length === 1 ? row[0][1] : Object.fromEntries(row)] };
  }
  return { signature_name: name, inputs: Object.fromEntries(inputs.map(([alias, t]) => [alias, zero(t, numericShape(t))])) };
}

// JSON with what is short on one line.
function pretty(value, indent = "") {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const items = (inner) => (Array.isArray(value) ? value.map((v) => pretty(v, inner)) : Object.entries(value).map(([k, v]) => `${JSON.stringify(k)}: ${pretty(v, inner)}`));
  const line = items(indent).join(", ");
  if (line.length <= 60 && !line.includes("\n")) return open + line + close;
  const inner = `${indent}  `;
  return `${open}\n${inner}${items(inner).join(`,\n${inner}`)}\n${indent}${close}`;
}

const actionOf = (signature) => (/\/(classify|regress)$/.exec(signature?.method_name ?? "") ?? [])[1] ?? "predict";

function options(select, values, chosen) {
  keyed(select, values, (v) => v[0], ([value, text]) => el("option", { value }, text), (node, [, text]) => setText(node, text));
  if (chosen !== undefined && values.some(([v]) => v === chosen)) select.value = chosen;
  select.disabled = values.length === 0;
}

function modelPath() {
  const version = $("f-version").value;
  const [kind, value] = version ? version.split(/:(.*)/s) : [];
  return `v1/models/${encodeURIComponent($("f-model").value)}${kind === "v" ? `/versions/${value}` : kind === "l" ? `/labels/${encodeURIComponent(value)}` : ""}`;
}

let formKey = "";
async function drawForm() {
  const models = now.models.filter((m) => m.versions.some((v) => v.state === "AVAILABLE"));
  options($("f-model"), models.map((m) => [m.name, m.name]), $("f-model").value || $("filter").value || models[0]?.name);
  const model = models.find((m) => m.name === $("f-model").value);
  const versions = (model?.versions ?? []).filter((v) => v.state === "AVAILABLE");
  options($("f-version"), model ? [["", "as routed"], ...versions.map((v) => [`v:${v.version}`, v.version]), ...Object.keys(model.labels).map((l) => [`l:${l}`, l])] : [], $("f-version").value);
  const key = JSON.stringify([model?.name, $("f-version").value, versions.map((v) => v.version)]);
  if (key === formKey) return;
  formKey = key;
  const before = $("f-signature").value;
  signatures = {};
  options($("f-signature"), []);
  drawSignature();
  setText($("f-note"), model ? "" : "No version is available to ask.");
  if (!model) return;
  try {
    const metadata = await json(`${modelPath()}/metadata`);
    if (key !== formKey) return;
    signatures = metadata.metadata.signature_def.signature_def ?? {};
    const names = Object.keys(signatures).filter((name) => !name.startsWith("__")).sort();
    options($("f-signature"), names.map((n) => [n, n]), names.includes(before) ? before : names.includes("serving_default") ? "serving_default" : names[0]);
    setText($("f-note"), "");
    drawSignature();
  } catch (error) {
    formKey = "";
    setText($("f-note"), error.message);
  }
}

function drawSignature() {
  const signature = signatures[$("f-signature").value];
  const tensors = signature ? ["inputs", "outputs"].flatMap((side) => Object.entries(signature[side] ?? {}).map(([name, tensor]) => ({ side, name, tensor }))) : [];
  keyed($("f-tensors"), tensors, (t) => JSON.stringify([t.side, t.name, t.tensor.dtype, shapeText(t.tensor)]), (t) => el("tr", {}, el("td", { class: "soft" }, t.side === "inputs" ? "in" : "out"), el("td", {}, el("span", { class: "name" }, t.name)), el("td", {}, t.tensor.dtype.replace(/^DT_/, "").toLowerCase()), el("td", {}, shapeText(t.tensor))));
  if (signature && (!$("f-body").value || $("f-body").value === sampleShown)) fillSample();
}

function fillSample() {
  const signature = signatures[$("f-signature").value];
  if (!signature) return;
  $("f-body").value = sampleShown = pretty(sampleBody($("f-signature").value, signature));
  checkBody();
}

function checkBody() {
  let problem = "";
  try { JSON.parse($("f-body").value); } catch (error) { problem = error.message; }
  $("f-body").setAttribute("aria-invalid", problem ? "true" : "false");
  setText($("f-note"), problem && `This is no JSON that a browser reads: ${problem}`);
}

async function send(event) {
  event?.preventDefault();
  if (!$("f-model").value || $("f-send").disabled) return;
  $("f-send").disabled = true;
  setText($("f-send"), "Sending…");
  const started = performance.now();
  let status = "", text = "", ok = false;
  try {
    const response = await request(`${modelPath()}:${actionOf(signatures[$("f-signature").value])}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: $("f-body").value });
    text = await response.text();
    ok = response.ok;
    status = `${response.status} ${response.statusText}`;
  } catch (error) {
    status = "no answer";
    text = error.message;
  }
  setText($("f-time"), `${digits(performance.now() - started)} ms, as seen from here`);
  $("f-status").hidden = false;
  stateTag($("f-status"), status, ok ? "good" : "bad");
  setText($("f-answer"), text.length > 200000 ? `${text.slice(0, 200000)}\n… ${text.length - 200000} more characters` : text);
  $("f-send").disabled = false;
  setText($("f-send"), "Send");
}
