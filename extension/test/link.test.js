import assert from "node:assert/strict";
import { test } from "node:test";

import { Fault } from "../relay/fault.js";
import { Link, MAX_FRAME } from "../relay/link.js";
import { area, settle } from "./chrome.js";

const PAIRED = { address: "127.0.0.1:47800", token: "tok", name: "Chrome", worker: "Deskhand" };

// A worker that the test plays: sockets come up in `sockets`, timers run when the test says so.
function stage(pairing) {
  const sockets = [];
  class WebSocket {
    constructor(url, protocols) {
      Object.assign(this, { url, protocols, readyState: 0, sent: [] });
      sockets.push(this);
    }
    send(text) {
      this.sent.push(JSON.parse(text));
    }
    close() {
      this.readyState = 3;
    }
    open() {
      this.readyState = 1;
      this.onopen?.();
    }
    say(frame) {
      this.onmessage?.({ data: typeof frame === "string" ? frame : JSON.stringify(frame) });
    }
    end(code = 1006) {
      this.readyState = 3;
      this.onclose?.({ code });
    }
  }
  const timers = new Map();
  let clock = 0;
  let next = 1;
  const calls = [];
  const world = {
    sockets, timers, calls,
    reachable: false,
    storage: area(pairing ? { pairing } : {}),
    lost: 0,
    answer: async () => ({}),
  };
  const link = new Link(
    {
      WebSocket,
      fetch: async () => {
        if (!world.reachable) throw new TypeError("Failed to fetch");
      },
      storage: world.storage,
      setTimeout: (fn, ms) => (timers.set(next, { fn, at: clock + ms }), next++),
      clearTimeout: (id) => timers.delete(id),
      now: () => clock,
    },
    {
      hello: (name) => ({ name }),
      call: (name, params) => (calls.push(name), world.answer(name, params)),
      told: () => {},
      changed: () => {},
      lost: () => world.lost++,
    },
  );
  world.pass = async (ms) => {
    clock += ms;
    for (const [id, timer] of [...timers]) if (timer.at <= clock && timers.delete(id)) timer.fn();
    await settle();
  };
  return { link, world, sockets };
}

async function connected(pairing = PAIRED) {
  const all = stage(pairing);
  await all.link.load();
  const ticking = all.link.tick();
  await settle();
  all.sockets[0].open();
  all.sockets[0].say({ welcome: { worker: "Deskhand on here", name: "Chrome" } });
  await ticking;
  return { ...all, socket: all.sockets[0] };
}

test("pairing keeps the token and speaks the subprotocol", async () => {
  const { link, world, sockets } = stage();
  await link.load();
  const pairing = link.pair("127.0.0.1:5", "ABCD2345");
  await settle();
  assert.equal(sockets[0].url, "ws://127.0.0.1:5/extension");
  assert.deepEqual(sockets[0].protocols, ["deskhand.v1", "ABCD2345"]);
  sockets[0].open();
  sockets[0].say({ welcome: { token: "t0", worker: "W", name: "N" } });
  await pairing;
  await settle();
  assert.deepEqual(world.storage.data.pairing, { address: "127.0.0.1:5", token: "t0", name: "N", worker: "W" });
  assert.equal(link.state, "connected");
});

test("a refused code and a silent port are told apart, and the old pairing stays", async () => {
  for (const [reachable, reason] of [[true, "refused"], [false, "unreachable"]]) {
    const { link, world, sockets } = stage(PAIRED);
    await link.load();
    world.reachable = reachable;
    const pairing = link.pair("127.0.0.1:5", "ABCD2345");
    await settle();
    sockets[0].end();
    await assert.rejects(pairing, { reason });
    assert.deepEqual(world.storage.data.pairing, PAIRED);
    assert.equal(link.pairing.token, "tok");
  }
});

test("calls are answered by number, in the order they end", async () => {
  const { socket, world } = await connected();
  let release;
  world.answer = (name) => (name === "slow" ? new Promise((r) => (release = r)) : Promise.resolve({ name }));
  socket.say({ id: 1, call: "slow" });
  for (let id = 2; id <= 21; id++) socket.say({ id, call: `c${id}` });
  await settle();
  release({});
  await settle();
  assert.deepEqual(socket.sent.filter((f) => f.id).map((f) => f.id), [...Array(20).keys()].map((n) => n + 2).concat(1));
});

test("an error is answered with its reason", async () => {
  const { socket, world } = await connected();
  world.answer = async () => {
    throw new Fault("not_lent", "no");
  };
  socket.say({ id: 7, call: "x" });
  await settle();
  assert.deepEqual(socket.sent.at(-1), { id: 7, error: { reason: "not_lent", message: "no" } });
});

test("an answer larger than a message becomes an error", async () => {
  const { socket, world } = await connected();
  world.answer = async () => ({ data: "x".repeat(MAX_FRAME) });
  socket.say({ id: 7, call: "x" });
  await settle();
  assert.equal(socket.sent.at(-1).error.reason, "too_large");
});

test("junk is ignored", async () => {
  const { link, socket } = await connected();
  for (const junk of ["", "{", "null", "7", "[]", '"x"', "{}", '{"id":"1","call":"x"}']) socket.say(junk);
  await settle();
  assert.equal(link.state, "connected");
  assert.equal(socket.sent.filter((f) => "id" in f).length, 0);
});

test("a ping goes out every 20 s, and silence ends the connection", async () => {
  const { link, socket, world } = await connected();
  await world.pass(20_000);
  assert.deepEqual(socket.sent.at(-1), { event: "ping" });
  socket.say({ event: "pong" });
  await world.pass(20_000);
  await world.pass(20_000);
  assert.equal(link.state, "connected", "40 s of silence are borne");
  await world.pass(20_000);
  assert.equal(link.state, "waiting");
  assert.equal(world.lost, 1);
});

test("after a loss it comes back by itself, and late answers go nowhere", async () => {
  const { link, sockets, socket, world } = await connected();
  let release;
  world.answer = () => new Promise((r) => (release = r));
  socket.say({ id: 1, call: "click" });
  await settle();
  socket.end();
  assert.equal(link.state, "waiting");
  await world.pass(200);
  assert.equal(sockets.length, 2);
  sockets[1].open();
  sockets[1].say({ welcome: { worker: "W" } });
  await settle();
  assert.equal(link.state, "connected");
  release({});
  await settle();
  assert.deepEqual(sockets[1].sent.map((f) => Object.keys(f)[0]), ["hello"]);
  assert.deepEqual(world.calls, ["click"], "nothing runs twice");
});

test("quick tries end; the alarm goes on", async () => {
  const { link, sockets, world } = stage(PAIRED);
  await link.load();
  void link.tick();
  for (let i = 0; i < 40; i++) {
    await settle();
    if (sockets.at(-1).readyState === 0) sockets.at(-1).end();
    await settle();
    await world.pass(5000);
  }
  const tries = sockets.length;
  assert.ok(tries < 20, `${tries}`);
  await world.pass(60_000);
  assert.equal(sockets.length, tries);
  void link.tick();
  await settle();
  assert.equal(sockets.length, tries + 1);
});

test("a worker that does not know us is not besieged", async () => {
  const { link, sockets, world } = stage(PAIRED);
  await link.load();
  world.reachable = true;
  const ticking = link.tick();
  await settle();
  sockets[0].end();
  await ticking;
  assert.equal(link.state, "refused");
  await world.pass(600_000);
  assert.equal(sockets.length, 1, "only the alarm tries again");
});

test("while another copy of the profile is connected it says so", async () => {
  const { link, sockets } = stage(PAIRED);
  await link.load();
  const ticking = link.tick();
  await settle();
  sockets[0].open();
  sockets[0].end(4409);
  await ticking;
  assert.equal(link.state, "busy");
});

test("unpairing forgets the token and hangs up", async () => {
  const { link, socket, world } = await connected();
  await link.forget();
  assert.equal(link.state, "unpaired");
  assert.equal(world.storage.data.pairing, undefined);
  assert.equal(socket.readyState, 3);
});

test("two wake-ups at once make one connection", async () => {
  const { link, sockets } = stage(PAIRED);
  await link.load();
  void link.tick();
  void link.tick();
  await settle();
  void link.tick();
  assert.equal(sockets.length, 1);
});
