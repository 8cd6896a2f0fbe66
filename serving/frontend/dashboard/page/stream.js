// Reads the stream of overviews, and connects again when it was lost.

const SILENCE = 6000;      // milliseconds without an event after which the connection counts as lost
let connection = null, pause = 1000;

async function connect() {
  connection?.abort();
  const mine = (connection = new AbortController());
  clearTimeout(connect.timer);
  if ($("link").dataset.state !== "live") setLink("connecting");
  let watch, heard = false;
  const listen = () => { clearTimeout(watch); watch = setTimeout(() => mine.abort(), SILENCE); };
  try {
    listen();
    const response = await request("dashboard/api/stream", { headers: { Accept: "text/event-stream" }, signal: mine.signal });
    if (response.status === 401) { clearTimeout(watch); return void login(); }
    if (!response.ok) throw new Error(await errorText(response));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ;) {
      const { done, value } = await reader.read();
      if (done && heard) { clearTimeout(watch); return void connect(); }
      if (done) throw new Error("the server has closed the connection");
      heard = true;
      listen();
      text += value;
      const events = text.split("\n\n");
      text = events.pop();
      // A page in the background may find several; the latest says everything.
      for (const event of events.slice(-1)) {
        const data = event.split("\n").filter((l) => l.startsWith("data: ")).map((l) => l.slice(6)).join("\n");
        if (data) await arrived(JSON.parse(data));
      }
      pause = 1000;
    }
  } catch (error) {
    clearTimeout(watch);
    if (connection !== mine) return;
    setLink("lost");
    notice(`${now ? `No connection; these are the numbers of ${clock(now.time)}.` : "The server does not answer."} ${error.name === "AbortError" ? "" : `(${error.message}) `}Trying again in ${pause / 1000} s.`, true);
    connect.timer = setTimeout(connect, pause);
    pause = Math.min(2 * pause, 15000);
  }
}

function setLink(state) {
  $("link").dataset.state = state;
  setText($("link"), { live: "live", connecting: "connecting", lost: "disconnected" }[state]);
  $("main").classList.toggle("stale", state === "lost" && now !== null);
}

async function arrived(overview) {
  if (overview.error) throw new Error(overview.error);
  const changed = !now || now.timeline !== overview.timeline;
  remember(overview);
  if ($("link").dataset.state !== "live") { setLink("live"); notice(""); }
  setText($("about"), `${overview.version} · up ${ago(overview.time - overview.started)}${overview.read_only ? " · read-only" : ""}`);
  options($("filter"), [["", "All models"], ...overview.models.map((m) => [m.name, m.name])]);
  if (changed) {
    timeline = await json("dashboard/api/timeline");
    if (view === "history") drawTimeline();
  }
  draw();
}

function login(why = "") {
  setLink("lost");
  setText($("login-why"), token ? "The server has refused this token." : why);
  $("token").value = "";
  if (!$("login").open) $("login").showModal();
}
$("login").addEventListener("close", () => {
  token = $("token").value;
  $("token").value = "";
  if (!token) return notice("The server shows its numbers to those with a token only.", true);
  try { sessionStorage.setItem("tessera-token", token); } catch { /* storage is off */ }
  connect();
});

try { setTheme(localStorage.getItem("tessera-theme") ?? ""); } catch { setTheme(""); }
go(location.hash.slice(1) || "overview");
connect();
