// The view of rollouts, and the actions on them.

const PHASES = { ROLLOUT_IDLE: ["nothing is tried", ""], ROLLOUT_LOADING: ["candidate is loading", "warn"], ROLLOUT_STEP: ["candidate is tried", "good"], ROLLOUT_HELD: ["held", "warn"], ROLLOUT_PAUSED: ["paused", "warn"] };
const MEASURES = [
  ["Requests", (m) => show("count", Number(m.requests))],
  ["Error rate", (m) => show("percent", 100 * m.error_rate), (c) => c.max_error_rate_increase !== undefined && `at most +${plain("percent", 100 * c.max_error_rate_increase)}`],
  ["p50", (m) => show("micros", m.p50_micros), (c) => c.max_p50_ratio !== undefined && `at most × ${c.max_p50_ratio}`],
  ["p99", (m) => show("micros", m.p99_micros), (c) => c.max_p99_ratio !== undefined && `at most × ${c.max_p99_ratio}`],
  ["NaN or infinite", (m) => show("percent", 100 * m.non_finite_share), (c) => c.max_non_finite_share !== undefined && `at most ${plain("percent", 100 * c.max_non_finite_share)}`],
  ["Compared", (m) => show("count", Number(m.compared))],
  ["Mean difference", (m) => Number(m.mean_abs_difference).toPrecision(3), (c) => c.max_mean_abs_difference !== undefined && `at most ${c.max_mean_abs_difference}`],
  ["Top-1 agreement", (m) => show("percent", 100 * m.top1_agreement), (c) => c.min_top1_agreement !== undefined && `at least ${plain("percent", 100 * c.min_top1_agreement)}`],
  ["PSI", (m) => Number(m.psi).toPrecision(3), (c) => c.max_psi !== undefined && `at most ${c.max_psi}`],
];

const ACTIONS = [
  ["promote", "Promote", (r) => `Version ${r.candidate_version} gets all traffic of ${r.model} at once, whatever was measured.`, (r) => r.candidate_version !== "0"],
  ["rollback", "Roll back", (r) => (r.candidate_version !== "0" ? `Version ${r.candidate_version} of ${r.model} is rejected and gets no more traffic. It is not tried again until its files change.` : `Version ${r.stable_version} of ${r.model} is rejected; version ${r.previous_version} gets all traffic.`), (r) => r.candidate_version !== "0" || r.previous_version !== "0"],
  ["pause", "Pause", (r) => `The share of version ${r.candidate_version} of ${r.model} stays at ${plain("percent", r.share_percent)}, and nothing is judged until the rollout is resumed.`, (r) => r.candidate_version !== "0" && r.phase !== "ROLLOUT_PAUSED"],
  ["resume", "Resume", (r) => `The rollout of version ${r.candidate_version} of ${r.model} goes on where it was paused.`, (r) => r.phase === "ROLLOUT_PAUSED"],
];

function drawRollouts() {
  const rollouts = now.rollouts.filter((r) => shown(r.model));
  $("rollouts-empty").hidden = rollouts.length > 0;
  keyed($("rollouts"), rollouts, (r) => r.model, (r) => {
    const card = el("article", { class: "card" }, el("div", { class: "headed" }, el("h2", { class: "name" }, r.model), el("span")), el("p"), el("ol", { class: "steps", "aria-label": "Steps" }), el("p", { class: "soft" }), el("div", { class: "wide" }, el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, "Window"), el("th", { class: "n" }), el("th", { class: "n" }), el("th", {}, "Condition"))), el("tbody"))), el("div", { class: "actions" }));
    for (const [action, label] of ACTIONS) card.lastChild.append(el("button", { type: "button", "data-action": action, class: action === "rollback" ? "danger" : "", onclick: () => act(r.model, action) }, label));
    if (now.read_only) card.lastChild.remove();
    return card;
  }, updateRollout);
}

function updateRollout(card, r) {
  const [headed, what, steps, reason, wide, actions] = card.children;
  stateTag(headed.children[1], ...PHASES[r.phase]);
  const tried = r.candidate_version !== "0";
  setText(what, tried ? `Version ${r.candidate_version} has ${plain("percent", r.share_percent)} of the traffic beside version ${r.stable_version}.` : r.stable_version !== "0" ? `Version ${r.stable_version} has all traffic.` : "No version is stable yet.");
  keyed(steps, r.config.steps.map((s, i) => ({ ...s, i })), (s) => String(s.i), () => el("li"), (node, s) => {
    const at = !tried ? "" : s.i < r.step ? "done" : s.i === r.step ? "now" : "";
    node.dataset.at = at;
    if (at === "now") node.setAttribute("aria-current", "step"); else node.removeAttribute("aria-current");
    setText(node, plain("percent", s.share_percent) + (s.duration_seconds ? ` · ${at === "now" ? `${ago(r.step_seconds)} of ` : ""}${ago(s.duration_seconds)}` : ""));
  });
  const rejected = r.rejected_versions.length ? ` Rejected: ${r.rejected_versions.join(", ")}.` : "";
  setText(reason, (r.reason && !/[.!?]$/.test(r.reason) ? `${r.reason}.` : r.reason) + rejected);
  const head = wide.querySelector("tr");
  setText(head.children[0], `Last ${ago(r.config.conditions.window_seconds)}`);
  setText(head.children[1], `Live${r.stable_version !== "0" ? `, ${r.stable_version}` : ""}`);
  setText(head.children[2], tried ? `Candidate, ${r.candidate_version}` : "Candidate");
  const mirrored = r.config.mirror_percent > 0;
  keyed(wide.querySelector("tbody"), MEASURES.filter((_, i) => i < 5 || mirrored), (m) => m[0], (m) => el("tr", {}, el("td", {}, m[0]), el("td", { class: "n" }), el("td", { class: "n" }), el("td", { class: "soft" })), (row, [name, value, limit]) => {
    const compared = ["Compared", "Mean difference", "Top-1 agreement", "PSI"].includes(name);
    setText(row.children[1], r.live && !compared ? value(r.live) : "–");
    setText(row.children[2], r.candidate && tried ? value(r.candidate) : "–");
    setText(row.children[3], (limit && limit(r.config.conditions)) || "");
  });
  for (const button of actions?.children ?? []) {
    const [, , , possible] = ACTIONS.find(([action]) => action === button.dataset.action);
    button.disabled = !possible(r);
  }
}

let settle = null;         // takes the answer to the question that is open

function ask(title, text, yes) {
  setText($("confirm-title"), title);
  setText($("confirm-text"), text);
  setText($("confirm-yes"), yes);
  const dialog = $("confirm");
  dialog.returnValue = "no";
  dialog.showModal();
  settle?.(false);
  return new Promise((resolve) => { settle = resolve; });
}

// The event may come when the dialog is open again, for the next question.
$("confirm").addEventListener("close", () => {
  if ($("confirm").open) return;
  settle?.($("confirm").returnValue === "yes");
  settle = null;
});

async function act(model, action) {
  const rollout = now.rollouts.find((r) => r.model === model);
  const [, label, text] = ACTIONS.find(([name]) => name === action);
  if (!rollout || !(await ask(`${label} ${model}?`, text(rollout), label))) return;
  try {
    const response = await request(`admin/v1/rollouts/${encodeURIComponent(model)}:${action}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ version: rollout.candidate_version }) });
    if (!response.ok) throw new Error(await errorText(response));
    notice("");
  } catch (error) {
    notice(`${label} ${model}: ${error.message}`);
  }
}
