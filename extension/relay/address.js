// Where the worker listens, and what the person types to be paired with it. Only this machine: an extension that
// could be talked into another host would hand the person's tabs to it.

export const DEFAULT_ADDRESS = "127.0.0.1:47800";

// "47800", "127.0.0.1:47800", "localhost:47800" or a whole URL of one of these → "127.0.0.1:47800", else undefined.
export function addressOf(typed) {
  const text = String(typed ?? "").trim().replace(/^(ws|http):\/\//i, "").replace(/\/.*$/, "");
  const match = /^(?:(127\.0\.0\.1|localhost):)?(\d{1,5})$/i.exec(text);
  if (!match) return undefined;
  const port = Number(match[2]);
  return port >= 1 && port <= 65535 ? `127.0.0.1:${port}` : undefined;
}

// A pairing code as the worker compares it: eight letters and digits, however they were typed.
export function codeOf(typed) {
  const code = String(typed ?? "").toUpperCase().replace(/[^A-Z0-9]/g, "");
  return code.length === 8 ? code : undefined;
}

// What a browser is called until the person names it: "Chrome on Windows".
export function browserName(navigator) {
  const brands = navigator.userAgentData?.brands ?? [];
  const known = ["Microsoft Edge", "Google Chrome", "Opera", "Brave", "Vivaldi", "Chromium"];
  const brand = known.find((k) => brands.some((b) => b.brand === k)) ?? "Chromium";
  const platform = navigator.userAgentData?.platform;
  return brand.replace("Google ", "").replace("Microsoft ", "") + (platform ? ` on ${platform}` : "");
}

export function product(navigator) {
  const brands = navigator.userAgentData?.brands ?? [];
  const chromium = brands.find((b) => b.brand === "Chromium");
  return chromium ? `Chromium ${chromium.version}` : "Chromium";
}
