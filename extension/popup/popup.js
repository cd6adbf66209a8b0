// The popup: shows what the service worker says, and passes on what the person decides. It decides nothing itself.

const $ = (id) => document.getElementById(id);
const text = (key, ...fill) => chrome.i18n.getMessage(key, fill) || key;

let state;
let pairingAnew = false;

async function ask(name, more = {}) {
  const answer = await chrome.runtime.sendMessage({ ask: name, ...more });
  if (answer?.error) {
    complain(text(answer.error, answer.detail ?? ""));
    throw new Error(answer.error);
  }
  return answer?.result ?? {};
}

function complain(message) {
  $("error").textContent = message ?? "";
  $("error").hidden = !message;
}

async function refresh() {
  state = await ask("state");
  draw();
}

// Runs one wish of the person: the button rests until it is done, a complaint stays until the next wish.
function wish(button, deed) {
  return async (event) => {
    event?.preventDefault();
    complain();
    button.disabled = true;
    try {
      await deed();
      await refresh();
    } catch {
      // Said by `ask` already.
    } finally {
      button.disabled = false;
    }
  };
}

function hostOf(url) {
  try {
    const { host, protocol } = new URL(url);
    return host || protocol;
  } catch {
    return "";
  }
}

const STATUS = { unpaired: "statusUnpaired", waiting: "statusWaiting", connected: "statusConnected", refused: "statusRefused", busy: "statusBusy" };

function draw() {
  const paired = state.link !== "unpaired";
  document.body.dataset.link = state.link;
  $("status-text").textContent = text(STATUS[state.link], state.worker ?? "Deskhand", state.address);
  $("pairing").hidden = paired && !pairingAnew && state.link !== "refused";
  $("pair-cancel").hidden = !pairingAnew;
  if (!$("address").value) $("address").value = state.address;
  if (!$("pair-name").value) $("pair-name").value = state.name;
  if (document.activeElement !== $("name")) $("name").value = state.name;
  $("settings").hidden = !paired || pairingAnew;
  drawHere(paired && !pairingAnew);
  drawLent();
}

function drawHere(shown) {
  const { here } = state;
  $("here").hidden = !shown || !here;
  if (!here) return;
  $("here-name").textContent = here.title || here.url;
  $("here-host").textContent = hostOf(here.url);
  $("here-obstacle").hidden = !here.obstacle || Boolean(here.lent);
  $("here-obstacle").textContent = here.obstacle ? text(here.obstacle) : "";
  $("lend").hidden = Boolean(here.lent);
  $("lend").disabled = Boolean(here.obstacle);
  $("return").hidden = !here.lent;
}

function drawLent() {
  $("lent").hidden = state.lent.length === 0;
  $("lent-title").textContent = text("lentTitle", String(state.lent.length));
  $("lent-list").replaceChildren(...state.lent.map(lentRow));
}

function lentRow(tab) {
  const row = document.createElement("li");
  const show = document.createElement("button");
  show.type = "button";
  show.className = "show";
  const name = document.createElement("strong");
  name.textContent = tab.title || tab.url;
  const more = document.createElement("span");
  const by = { person: "byPerson", agent: "byAgent", page: "byPage" }[tab.by];
  more.textContent = [tab.group, text(by)].filter(Boolean).join(" · ");
  show.append(name, more);
  show.title = text("showButton");
  show.addEventListener("click", wish(show, () => ask("show", { tab: tab.tab })));
  const back = document.createElement("button");
  back.type = "button";
  back.textContent = text("takeBackButton");
  back.setAttribute("aria-label", text("takeBackLabel", tab.title || tab.url));
  back.addEventListener("click", wish(back, () => ask("takeBack", { tab: tab.tab })));
  row.append(show, back);
  return row;
}

async function pair() {
  const { problem } = await ask("pair", { address: $("address").value, code: $("code").value, name: $("pair-name").value.trim() });
  if (problem) {
    complain(text(problem, $("address").value));
    $(problem === "pairAddress" ? "address" : "code").focus();
    return;
  }
  $("code").value = "";
  pairingAnew = false;
}

function wire() {
  document.documentElement.lang = chrome.i18n.getUILanguage();
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = text(element.dataset.text);
  $("pairing").addEventListener("submit", wish($("pairing").querySelector(".primary"), pair));
  $("lend").addEventListener("click", wish($("lend"), () => ask("lend", { tabId: state.here.tabId })));
  $("return").addEventListener("click", wish($("return"), () => ask("takeBack", { tab: state.here.lent })));
  $("stop").addEventListener("click", wish($("stop"), () => ask("stop")));
  $("forget").addEventListener("click", wish($("forget"), () => ask("forget")));
  $("naming").addEventListener("submit", wish($("naming").querySelector("button"), () => ask("rename", { name: $("name").value })));
  const anew = (on) => () => {
    pairingAnew = on;
    draw();
    (on ? $("code") : $("lend")).focus();
  };
  $("pair-other").addEventListener("click", anew(true));
  $("pair-cancel").addEventListener("click", anew(false));
  chrome.runtime.onMessage.addListener((message) => {
    if (message?.event === "changed") void refresh().catch(() => {});
    return false;
  });
}

wire();
await refresh().catch(() => {});
// Opening the popup is the moment to look whether the worker is back.
void ask("retry").catch(() => {});
if (state?.link === "unpaired") $("code").focus();
