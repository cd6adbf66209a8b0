// The status page: asks /api/status every few seconds and draws it. Everything from outside is set as text, never as HTML.

const $ = (id) => document.getElementById(id);
let timer;

async function ask(path, options = {}) {
  const response = await fetch(path, { ...options, headers: { accept: "application/json", ...options.headers } });
  const body = await response.json().catch(() => ({ success: false, error: `HTTP ${response.status}` }));
  return { status: response.status, body };
}

function complain(text) {
  $("error").textContent = text ?? "";
  $("error").hidden = !text;
}

function cell(row, content) {
  const td = row.insertCell();
  if (content instanceof Node) td.append(content);
  else td.textContent = content;
}

function rows(table, items, cells) {
  const body = $(table).tBodies[0];
  body.replaceChildren();
  for (const item of items) {
    const row = body.insertRow();
    for (const content of cells(item)) cell(row, content);
  }
}

function button(text, question, what, action) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", () => confirm(question) && administer(what, action));
  return made;
}

async function administer(what, action) {
  const { body } = await ask(`/api/admin/${what}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(action),
  });
  complain(body.success ? null : body.error);
  await refresh();
  return body.success;
}

const time = (ms) => new Date(ms).toLocaleString();

function draw(state) {
  $("name").textContent = state.username + (state.superadmin ? " (superadmin)" : "");
  $("mcp").textContent = `${location.origin}/api/mcp/agent`;
  $("sse").textContent = `${location.origin}/api/mcp/sse/agent`;
  rows("executors", state.executors, (link) => [
    link.user, link.service, time(link.since_ms), String(link.calls), link.deskhand ? `Deskhand (${link.tools} tools)` : "other",
  ]);
  $("executors").hidden = state.executors.length === 0;
  $("nobody").hidden = state.executors.length !== 0;
  rows("calls", state.calls, (call) => [time(call.at_ms), call.user, call.tool, `${call.took_ms} ms`, call.ending]);
  const list = $("tools");
  list.replaceChildren();
  for (const tool of state.tools ?? []) {
    const name = document.createElement("dt");
    const code = document.createElement("code");
    code.textContent = tool.name;
    name.append(code);
    const text = document.createElement("dd");
    text.textContent = tool.description;
    list.append(name, text);
  }
  if (state.superadmin) drawAdministration(state);
}

function drawAdministration(state) {
  rows("users", state.users, (user) => {
    const actions = document.createElement("span");
    if (!user.superadmin) {
      actions.append(button("Reset token", `Make the token of ${user.name} void?`, "token-reset", { user: user.name }), " ");
    }
    if (user.name !== state.username) actions.append(button("Remove", `Remove ${user.name}?`, "user-remove", { user: user.name }));
    return [user.name, user.superadmin ? "superadmin" : "user", actions];
  });
  rows("servers", state.servers, (row) => [
    row.name, row.what, button("Remove", `Remove ${row.name} and its grants?`, "server-remove", { server: row.name }),
  ]);
  rows("grants", state.grants, (grant) => [
    grant.server, grant.user, button("Remove", `${grant.user} may not use ${grant.server} any more?`, "grant-remove", grant),
  ]);
}

async function refresh() {
  clearTimeout(timer);
  let answer;
  try {
    answer = await ask("/api/status");
  } catch {
    complain("The gateway does not answer.");
    timer = setTimeout(refresh, 3000);
    return;
  }
  const signedIn = answer.body.success === true;
  $("sign-in").hidden = signedIn;
  for (const id of ["who", "connected", "activity"]) $(id).hidden = !signedIn;
  for (const id of ["own", "offered"]) $(id).hidden = !signedIn || answer.body.superadmin;
  $("administration").hidden = !signedIn || !answer.body.superadmin;
  if (!signedIn) {
    $("token").textContent = "••••••••";
    if (answer.status !== 401) complain(answer.body.error);
    return;
  }
  draw(answer.body);
  timer = setTimeout(refresh, 3000);
}

$("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const { body } = await ask("/api/session", { method: "POST", body: new URLSearchParams(new FormData(event.target)) });
  complain(body.success ? null : body.error);
  event.target.password.value = "";
  await refresh();
});

$("sign-out").addEventListener("click", async () => {
  await ask("/api/session", { method: "DELETE" });
  await refresh();
});

$("show-token").addEventListener("click", async () => {
  const { body } = await ask("/api/mcp/token");
  complain(body.success ? null : body.error);
  if (body.success) $("token").textContent = body.token;
});

$("reset-token").addEventListener("click", async () => {
  if (!confirm("Make your token void? Your executors and agents have to sign in again.")) return;
  const { body } = await ask("/api/mcp/token", { method: "DELETE" });
  complain(body.success ? null : body.error);
  if (body.success) $("token").textContent = body.token;
});

for (const what of ["user-add", "server-add", "grant-add"]) {
  $(what).addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(event.target));
    if (what === "user-add") fields.superadmin = event.target.superadmin.checked;
    const action = what === "server-add" ? { server: fields.server, spec: { kind: fields.kind, url: fields.url } } : fields;
    if (await administer(what, action)) event.target.reset();
  });
}

refresh();
