// The one WebSocket to the worker: pairing, reconnecting, heartbeat, and frames with answers.
//
// Life of a service worker: Chrome ends it after 30 s without activity. WebSocket traffic counts as activity, so a
// ping every 20 s keeps a connected one alive; without a connection an alarm wakes it every 30 s to try again.

import { Fault } from "./fault.js";

export const PROTOCOL = "deskhand.v1";
// What the worker takes in one message; a larger answer becomes an error instead of a cut connection.
export const MAX_FRAME = 32 * 1024 * 1024;
const PING_MS = 20_000;
const SILENCE_MS = 45_000;
const HELLO_MS = 10_000;
// Quick tries after a loss (a worker that restarts is back within seconds), then the alarm alone.
const RETRY_MS = [200, 500, 1000, 1000, 2000, 2000, 2000, 3000, 3000, 5000, 5000];

export class Link {
  // parts: { WebSocket, fetch, storage (local), setTimeout, clearTimeout, now }
  // owner: { hello() → object, call(name, params) → promise, told(event, params), changed(), lost() }
  constructor(parts, owner) {
    Object.assign(this, parts);
    this.owner = owner;
    this.state = "unpaired"; // unpaired, waiting, connected, refused, busy
    this.pairing = undefined; // { address, token, name, worker }
    this.socket = undefined;
    this.attempt = undefined;
    this.tries = 0;
    this.heard = 0;
  }

  async load() {
    this.pairing = (await this.storage.get("pairing")).pairing;
    if (this.pairing) this.#enter("waiting");
  }

  get connected() {
    return this.state === "connected";
  }

  // Pairs with the worker at `address` by a one-time code. Resolves when it greeted us; throws a Fault with reason
  // unreachable, refused or failed. The former pairing is replaced only when the new one holds.
  async pair(address, code) {
    const former = this.pairing;
    this.#drop();
    const outcome = await this.#connect({ address }, code);
    if (outcome === "connected") return;
    this.pairing = former;
    this.#enter(former ? "waiting" : "unpaired");
    if (former) this.retry();
    throw new Fault(outcome, outcome);
  }

  // Connects when paired and not connected. Safe to call at any time (alarms, start, wake-up).
  async tick() {
    if (!this.pairing) return;
    if (this.socket && this.now() - this.heard > SILENCE_MS) this.#lost(this.socket);
    if (this.socket || this.attempt) return;
    this.attempt = this.#connect(this.pairing, this.pairing.token).finally(() => (this.attempt = undefined));
    const outcome = await this.attempt;
    if (outcome === "connected" || !this.pairing) return;
    this.#enter(outcome === "unreachable" || outcome === "failed" ? "waiting" : outcome);
    if (outcome !== "refused") this.retry();
  }

  retry() {
    if (this.timer || this.tries >= RETRY_MS.length) return;
    this.timer = this.setTimeout(() => {
      this.timer = undefined;
      void this.tick();
    }, RETRY_MS[this.tries++]);
  }

  async forget() {
    this.pairing = undefined;
    await this.storage.remove("pairing");
    this.#drop();
    this.#enter("unpaired");
  }

  async rename(name) {
    if (!this.pairing) return;
    await this.#keep({ ...this.pairing, name });
    this.tell("renamed", { name });
  }

  // An event to the worker. Dropped when nobody is there: the worker asks anew after each connection.
  tell(event, params) {
    if (this.connected) this.#send(this.socket, { event, params });
  }

  async #connect(pairing, secret) {
    let socket;
    try {
      socket = new this.WebSocket(`ws://${pairing.address}/extension`, [PROTOCOL, secret]);
    } catch {
      return "failed";
    }
    this.socket = socket;
    this.heard = this.now();
    const ended = await new Promise((resolve) => {
      const late = this.setTimeout(() => resolve("failed"), HELLO_MS);
      const settle = (outcome) => {
        this.clearTimeout(late);
        resolve(outcome);
      };
      socket.onopen = () => this.#send(socket, { hello: this.owner.hello(pairing.name) });
      socket.onerror = () => {};
      socket.onclose = (event) => settle(event.code === 4409 ? "busy" : "closed");
      socket.onmessage = (event) => {
        const welcome = parse(event.data)?.welcome;
        if (!welcome) return settle("failed");
        void this.#welcomed(socket, pairing, welcome).then(() => settle("connected"));
      };
    });
    if (ended === "connected") return ended;
    if (this.socket === socket) this.socket = undefined;
    silence(socket);
    if (ended !== "closed") return ended;
    // A refused upgrade and a closed port look alike to a WebSocket. The public health route tells them apart.
    const there = await this.fetch(`http://${pairing.address}/health`, { mode: "no-cors", cache: "no-store" }).then(
      () => true,
      () => false,
    );
    return there ? "refused" : "unreachable";
  }

  async #welcomed(socket, pairing, welcome) {
    // From here on frames are answered; set before the first await, for calls may follow the welcome at once.
    socket.onmessage = (event) => this.#hear(socket, event.data);
    socket.onclose = () => this.#lost(socket);
    this.tries = 0;
    this.pairing = {
      address: pairing.address,
      token: welcome.token ?? pairing.token,
      name: welcome.name ?? pairing.name,
      worker: welcome.worker,
    };
    this.#enter("connected");
    this.#beat(socket);
    await this.storage.set({ pairing: this.pairing });
  }

  #beat(socket) {
    this.setTimeout(() => {
      if (this.socket !== socket) return;
      if (this.now() - this.heard > SILENCE_MS) return this.#lost(socket);
      this.#send(socket, { event: "ping" });
      this.#beat(socket);
    }, PING_MS);
  }

  #hear(socket, data) {
    this.heard = this.now();
    const frame = parse(data);
    if (!frame) return;
    if (frame.event === "ping") return this.#send(socket, { event: "pong" });
    if (frame.event === "named") return void this.#keep({ ...this.pairing, name: String(frame.params?.name ?? "") });
    if (frame.event) return this.owner.told(frame.event, frame.params ?? {});
    if (Number.isInteger(frame.id)) void this.#answer(socket, frame);
  }

  // Each call on its own: one that hangs delays no other.
  async #answer(socket, { id, call, params }) {
    let answer;
    try {
      answer = { id, result: (await this.owner.call(call, params ?? {})) ?? {} };
    } catch (error) {
      answer = { id, error: Fault.of(error).frame() };
    }
    // The answer belongs to the socket that asked; a later one has other numbers.
    this.#send(socket, answer);
  }

  #send(socket, frame) {
    if (!socket || socket.readyState !== 1) return;
    let text = JSON.stringify(frame);
    if (text.length > MAX_FRAME) {
      if (frame.id === undefined) return;
      const message = `the answer has ${text.length} bytes, more than the ${MAX_FRAME} of one message; ask for less`;
      text = JSON.stringify({ id: frame.id, error: new Fault("too_large", message).frame() });
    }
    socket.send(text);
  }

  #lost(socket) {
    if (this.socket !== socket) return;
    this.#drop();
    this.#enter(this.pairing ? "waiting" : "unpaired");
    this.tries = 0;
    this.owner.lost();
    this.retry();
  }

  #drop() {
    const socket = this.socket;
    this.socket = undefined;
    if (this.timer) this.clearTimeout(this.timer);
    this.timer = undefined;
    if (socket) silence(socket);
  }

  async #keep(pairing) {
    this.pairing = pairing;
    await this.storage.set({ pairing });
    this.owner.changed();
  }

  #enter(state) {
    this.state = state;
    this.owner.changed();
  }
}

function silence(socket) {
  socket.onopen = socket.onmessage = socket.onclose = null;
  try {
    socket.close();
  } catch {
    // It was never open.
  }
}

function parse(data) {
  try {
    const frame = JSON.parse(data);
    return frame && typeof frame === "object" ? frame : undefined;
  } catch {
    return undefined;
  }
}
