// Packs the extension into one zip, byte for byte the same for the same sources: sorted names, one fixed date,
// entries stored as they are. Usage: node extension/tools/pack.mjs OUT.zip

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { crc32 } from "./formats.mjs";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
// What the browser needs; tests, tools and notes stay out.
const PARTS = ["manifest.json", "background.js", "_locales", "icons", "popup", "relay"];
const DATE = 0x5a21; // 2025-01-01, as DOS counts days.

function files(path) {
  let entries;
  try {
    entries = readdirSync(join(ROOT, path));
  } catch {
    return [path];
  }
  return entries.flatMap((name) => files(`${path}/${name}`));
}

// Fields that a local header and a directory entry share, from "version needed" on.
function common(name, data) {
  const head = Buffer.alloc(26);
  head.writeUInt16LE(20, 0);
  head.writeUInt16LE(0x0800, 2); // names are UTF-8
  head.writeUInt16LE(DATE, 8);
  head.writeUInt32LE(crc32(data), 10);
  head.writeUInt32LE(data.length, 14);
  head.writeUInt32LE(data.length, 18);
  head.writeUInt16LE(name.length, 22);
  return head;
}

export function zip(entries) {
  const bodies = [];
  const directory = [];
  let offset = 0;
  for (const [path, data] of entries) {
    const name = Buffer.from(path, "utf8");
    const head = common(name, data);
    const body = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), head, name, data]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00", "latin1"), head, tail, name]));
    bodies.push(body);
    offset += body.length;
  }
  const index = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(directory.length, 8);
  end.writeUInt16LE(directory.length, 10);
  end.writeUInt32LE(index.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...bodies, index, end]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const out = process.argv[2];
  if (!out) {
    console.error("usage: node extension/tools/pack.mjs OUT.zip");
    process.exit(2);
  }
  const names = PARTS.flatMap(files).sort();
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, zip(names.map((name) => [name, readFileSync(join(ROOT, name))])));
  console.error(`${out}: ${names.length} files`);
}
