// Switches between the views, by mouse and keyboard, and between light and dark.

const VIEWS = [["overview", "Overview"], ["history", "History"], ["rollouts", "Rollouts"], ["request", "Request"], ["config", "Configuration"]];
let view = "overview";

function go(name, focus) {
  if (!VIEWS.some(([v]) => v === name)) name = "overview";
  view = name;
  for (const [v] of VIEWS) {
    $(`panel-${v}`).hidden = v !== name;
    const tab = $(`tab-${v}`);
    tab.setAttribute("aria-selected", String(v === name));
    tab.tabIndex = v === name ? 0 : -1;
    if (v === name && focus) tab.focus();
  }
  history.replaceState(null, "", `#${name}`);
  if (focus !== undefined) scrollTo(0, 0);
  if (name === "config") drawConfig();
  draw();
}

function draw() {
  if (!now) return;
  if (view === "overview") { drawCharts(); drawTiles(); drawVersions(); }
  if (view === "history") drawTimeline();
  if (view === "rollouts") drawRollouts();
  if (view === "request") drawForm();
}

VIEWS.forEach(([name, title], i) => $("tabs").append(el("button", { role: "tab", type: "button", id: `tab-${name}`, "aria-controls": `panel-${name}`, title: `${title} (${i + 1})`, onclick: () => go(name, false) }, title)));
$("tabs").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const at = VIEWS.findIndex(([name]) => name === view);
  go(VIEWS[(at + step + VIEWS.length) % VIEWS.length][0], true);
});

const THEMES = [["", "Auto", "as the system"], ["light", "Light", "light"], ["dark", "Dark", "dark"]];
function setTheme(name) {
  const [theme, sign, text] = THEMES.find(([t]) => t === name) ?? THEMES[0];
  if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
  setText($("theme"), sign);
  $("theme").setAttribute("aria-label", `Theme: ${text}`);
  try { localStorage.setItem("tessera-theme", theme); } catch { /* storage is off */ }
}
const nextTheme = () => setTheme(THEMES[(THEMES.findIndex(([t]) => t === (document.documentElement.dataset.theme ?? "")) + 1) % THEMES.length][0]);

function notice(text, retry) {
  $("notice").hidden = !text;
  setText($("notice-text"), text);
  $("retry").hidden = !retry;
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && view === "request") return void send(event);
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || document.querySelector("dialog[open]");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const action = { t: nextTheme, r: connect, m: () => $("filter").focus(), "?": () => $("help").showModal() }[event.key] ?? (VIEWS[event.key - 1] && (() => go(VIEWS[event.key - 1][0], true)));
  if (!action) return;
  event.preventDefault();
  action();
});

$("theme").addEventListener("click", nextTheme);
$("help-button").addEventListener("click", () => $("help").showModal());
$("retry").addEventListener("click", () => connect());
$("filter").addEventListener("change", draw);
$("span").addEventListener("change", draw);
$("form").addEventListener("submit", send);
$("f-sample").addEventListener("click", fillSample);
$("f-body").addEventListener("input", checkBody);
for (const id of ["f-model", "f-version"]) $(id).addEventListener("change", () => drawForm());
$("f-signature").addEventListener("change", drawSignature);
$("copy").addEventListener("click", async () => {
  try { await navigator.clipboard.writeText($("config").textContent); setText($("copy"), "Copied"); } catch { getSelection().selectAllChildren($("config")); setText($("copy"), "Selected"); }
});
addEventListener("hashchange", () => go(location.hash.slice(1)));
