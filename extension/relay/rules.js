// The allow-list: which DevTools commands may go to a lent tab, and where a tab may be sent.
//
// `chrome.debugger` can reach beyond the tab it is attached to (all cookies of the profile, other targets, extension
// pages), so commands are allowed by name, not forbidden by name. A whole domain is listed only when none of its
// commands leaves the page.

const DOMAINS = new Set([
  "Accessibility", "CSS", "DOM", "DOMSnapshot", "Emulation", "Fetch", "Input", "Inspector", "IO", "Log", "Overlay",
  "Performance", "Runtime",
]);

const METHODS = new Set([
  "Network.enable", "Network.disable", "Network.getResponseBody", "Network.setCacheDisabled",
  "Page.addScriptToEvaluateOnNewDocument", "Page.bringToFront", "Page.captureScreenshot", "Page.close",
  "Page.createIsolatedWorld", "Page.disable", "Page.enable", "Page.getFrameTree", "Page.getLayoutMetrics",
  "Page.getNavigationHistory", "Page.handleJavaScriptDialog", "Page.navigate", "Page.navigateToHistoryEntry",
  "Page.printToPDF", "Page.reload", "Page.removeScriptToEvaluateOnNewDocument",
  "Page.setInterceptFileChooserDialog", "Page.setLifecycleEventsEnabled", "Page.stopLoading",
  "Page.resetNavigationHistory", "Page.setBypassCSP", "Page.setWebLifecycleState",
  // What has Chrome draw a tab that is behind others, while a picture of it is taken.
  "Page.startScreencast", "Page.stopScreencast",
  "Target.setAutoAttach", "Target.detachFromTarget", "Target.getTargetInfo",
]);

// Emulation outlives no attachment, and Runtime and DOM stay inside the page; these few would not.
const NEVER = new Set(["Inspector.detached"]);

export function allowed(method, params = {}) {
  if (typeof method !== "string" || NEVER.has(method)) return false;
  if (method === "Page.navigate") return mayOpen(params.url);
  // Without `flatten` the child would get a debugger channel that this relay does not see.
  if (method === "Target.setAutoAttach") return params.flatten === true;
  if (method === "Target.getTargetInfo") return params.targetId === undefined;
  return METHODS.has(method) || DOMAINS.has(method.split(".")[0]);
}

// Whether a tab may be sent to this address: web pages, and local files where the person has given Chrome's own
// "Allow access to file URLs" (Chrome refuses the debugger there otherwise; what files are allowed is the worker's rule).
// Never extension pages: from our own popup an agent could lend itself the other tabs.
export function mayOpen(url) {
  if (typeof url !== "string") return false;
  if (url === "about:blank") return true;
  try {
    return ["http:", "https:", "file:"].includes(new URL(url).protocol);
  } catch {
    return false;
  }
}

// Whether a page may be lent at all, with the reason when not: a key of the locale files.
export function lendable(url) {
  if (!url) return "tabUnknown";
  if (url === "about:blank") return undefined;
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    return "tabUnknown";
  }
  if (["chromewebstore.google.com", "microsoftedge.microsoft.com"].includes(parsed.hostname)) return "tabRestricted";
  return ["http:", "https:", "file:"].includes(parsed.protocol) ? undefined : "tabRestricted";
}
