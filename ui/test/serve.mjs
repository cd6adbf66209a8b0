/**
 * Serves the pages to a browser, with the fake app in them and under the content rules they have in the app.
 * `node test/serve.mjs [PORT]` prints the address.
 */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const kinds = /** @type {{ [end: string]: string }} */ ({ ".html": "text/html", ".js": "text/javascript", ".css": "text/css" });
const rules = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const server = createServer(async (request, response) => {
  const path = normalize(decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname));
  const file = join(root, path);
  const kind = kinds[extname(file)];
  try {
    if (!kind || !(file.startsWith(join(root, "app") + sep) || file.startsWith(join(root, "test") + sep))) throw new Error("not a page");
    let text = await readFile(file, "utf8");
    if (kind === "text/html") text = text.replace("    <script", '    <script type="module" src="/test/demo.js"></script>\n    <script');
    response.writeHead(200, { "content-type": `${kind}; charset=utf-8`, "content-security-policy": rules, "cache-control": "no-store" });
    response.end(text);
  } catch {
    response.writeHead(404).end();
  }
});
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  const address = server.address();
  if (address && typeof address === "object") process.stdout.write(`http://127.0.0.1:${address.port}/app/index.html\n`);
});
