// Asks the server.

const base = location.pathname.replace(/dashboard\/?$/, "");
let token = "";
try { token = sessionStorage.getItem("tessera-token") || ""; } catch { /* storage is off */ }

function request(path, options = {}) {
  const headers = { "X-Tessera-Admin": "dashboard", ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  return fetch(base + path, { cache: "no-store", credentials: "same-origin", ...options, headers });
}

async function json(path) {
  const response = await request(path);
  if (!response.ok) throw new Error(await errorText(response));
  return response.json();
}

async function errorText(response) {
  const text = await response.text();
  try { return JSON.parse(text).error || text; } catch { return `${response.status} ${response.statusText}`; }
}
