/**
 * The way to the app: orders go out, events come in, both by the types of `bridge.d.ts`. It is the only module that touches
 * what the app puts into the window, so a test or a browser can put something else there.
 */
/** @typedef {import("../bridge.js").Commands} Commands */
/** @typedef {import("../bridge.js").Events} Events */

/**
 * @typedef {object} Bridge
 * @property {<N extends keyof Commands>(name: N, ...args: Parameters<Commands[N]>) => Promise<ReturnType<Commands[N]>>} call
 *   Gives an order. Rejects with an `Error` whose message is a sentence for the person.
 * @property {<N extends keyof Events>(name: N, handler: (payload: Events[N]) => void) => Promise<() => void>} on
 *   Hears an event until the answered function is called.
 */

/** The bridge of this window. @returns {Bridge} */
export function connect() {
  const host = window.__TAURI__;
  if (!host) throw new Error("This page belongs to Deskhand and works only inside it.");
  return {
    async call(name, ...args) {
      try {
        return /** @type {any} */ (await host.core.invoke(name, args[0] ?? {}));
      } catch (error) {
        throw new Error(sentence(error));
      }
    },
    on: (name, handler) => host.event.listen(name, (event) => handler(/** @type {any} */ (event.payload))),
  };
}

/**
 * What a rejection says: the app rejects with a sentence, the runtime with an error or an object that has a message.
 * @param {unknown} error
 * @returns {string}
 */
export function sentence(error) {
  if (typeof error === "string") return error;
  if (error && typeof error === "object" && "message" in error) return String(error.message);
  return JSON.stringify(error) ?? "unknown";
}
