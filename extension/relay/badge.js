// What the toolbar button shows: grey while no worker is there, coloured while one is, a number while tabs are lent.

export function badgeOf(state, lent) {
  if (state === "refused" || state === "busy") return { icon: "off", text: "!", color: "#b3261e", title: "badgeRefused" };
  if (lent > 0) {
    return { icon: state === "connected" ? "on" : "off", text: String(lent), color: "#b06000", title: "badgeLent" };
  }
  if (state === "connected") return { icon: "on", text: "", color: "#188038", title: "badgeReady" };
  if (state === "waiting") return { icon: "off", text: "…", color: "#5f6368", title: "badgeWaiting" };
  return { icon: "off", text: "", color: "#5f6368", title: "badgeUnpaired" };
}

export async function showBadge(chrome, state, lent) {
  const { icon, text, color, title } = badgeOf(state, lent);
  const path = Object.fromEntries([16, 32, 48].map((s) => [s, `icons/${icon}-${s}.png`]));
  await Promise.all([
    chrome.action.setIcon({ path }),
    chrome.action.setBadgeText({ text }),
    chrome.action.setBadgeBackgroundColor({ color }),
    chrome.action.setTitle({ title: chrome.i18n.getMessage(title, [String(lent)]) }),
  ]).catch(() => {});
}
