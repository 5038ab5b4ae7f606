/**
 * A client of the session dialect: one WebSocket, JSON in both directions, and nothing else.
 *
 * It fires three events: `state` when the connection changes, `received` for each event of the server, and `sent` for each
 * request. A connection that drops is made again, with growing waits, and goes on with the same session: what is being
 * answered is told again from its beginning. One that was closed on purpose, or whose session has ended, stays closed.
 */

/** Waits between attempts, in milliseconds; the last one repeats. */
const WAITS_MS = [250, 500, 1000, 2000, 4000];

/** After so many refusals in a row of a server that is there, the session is given up and a new one is begun. */
const MOST_REFUSALS = 2;

/** Close codes of the server that say: do not come back like this. They are 4000 + the HTTP status. */
const isRefusal = (code) => code >= 4400 && code < 4500 && code !== 4408 && code !== 4429;

/** The states of a connection. */
export const STATES = /** @type {const} */ (["idle", "connecting", "live", "reconnecting", "ended"]);

export class AgUiClient extends EventTarget {
  /** @type {WebSocket | undefined} */
  #socket;
  #address = "";
  #attempt = 0;
  #refusals = 0;
  #timer = 0;
  /** The session that the connection asked for. */
  #asked;
  /** Whether anything was said in the session: one in which nothing was is not kept. */
  #hasSpoken = false;
  /** Requests that wait for the connection. */
  #waiting = [];

  /** One of STATES. */
  state = "idle";
  /** The session, from its first `session-started` on. */
  sessionId;

  /** Connects to an endpoint, and begins a new session there. */
  connect(address) {
    this.#drop();
    this.#address = address;
    this.sessionId = undefined;
    this.#hasSpoken = false;
    this.#attempt = this.#refusals = 0;
    this.#waiting = [];
    this.#open("connecting");
  }

  /** Asks the agent. Without a connection the request waits for one. Returns the id of the message. */
  send(content) {
    const id = crypto.randomUUID?.() ?? `m-${Date.now()}-${Math.random().toString(36).slice(2)}`;
    // The server keeps the conversation: only what is new has to be sent.
    const request = { type: "run-agent", data: { messages: [{ id, role: "user", content }] } };
    if (this.state === "live") this.#deliver(request);
    else this.#waiting.push(request);
    return id;
  }

  /** Closes the connection for good. */
  disconnect() {
    this.#drop();
    this.#setState("ended", { reason: "closed" });
  }

  /** Does not wait for the next attempt. */
  retryNow() {
    if (this.state === "reconnecting") this.#open("reconnecting");
  }

  #open(state) {
    clearTimeout(this.#timer);
    this.#drop();
    this.#setState(state, { attempt: this.#attempt });
    const url = new URL(this.#address, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    // The same session again: the server finds its conversation.
    this.#asked = this.#hasSpoken && this.#refusals < MOST_REFUSALS ? this.sessionId : undefined;
    if (this.#asked !== undefined) url.searchParams.set("sessionId", this.#asked);
    let socket;
    try {
      socket = new WebSocket(url);
    } catch {
      this.#setState("ended", { reason: "address" });
      return;
    }
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      if (socket === this.#socket) this.#receive(data);
    });
    // A drop is always followed by `close`, so `error` needs no answer of its own.
    socket.addEventListener("close", ({ code, reason }) => {
      if (socket === this.#socket) this.#closed(code, reason);
    });
  }

  #receive(data) {
    let event;
    try {
      event = JSON.parse(data);
    } catch {
      this.#fire("received", { type: "unreadable", data: { text: String(data) } });
      return;
    }
    // The first event of a connection: from now on requests can be sent.
    if (event.type === "session-started") {
      const isResumed = event.sessionId === this.#asked;
      const isLost = this.#hasSpoken && !isResumed;
      this.sessionId = event.sessionId;
      this.#hasSpoken = isResumed;
      this.#attempt = this.#refusals = 0;
      this.#fire("received", event);
      this.#setState("live", { isResumed, isLost });
      for (const request of this.#waiting.splice(0)) this.#deliver(request);
      return;
    }
    this.#fire("received", event);
    if (event.type === "session-ended" && event.data?.reason !== "shutdown") {
      this.#drop();
      this.#setState("ended", { reason: event.data?.reason, error: event.data?.error });
    }
  }

  #deliver(request) {
    const message = { ...request, sessionId: this.sessionId };
    this.#socket?.send(JSON.stringify(message));
    this.#hasSpoken = true;
    this.#fire("sent", message);
  }

  #closed(code, reason) {
    this.#socket = undefined;
    const isFirst = this.sessionId === undefined;
    if (isRefusal(code) || (isFirst && this.#attempt >= 2)) {
      this.#waiting = [];
      this.#setState("ended", { reason: isRefusal(code) ? "refused" : "unreachable", message: reason });
      return;
    }
    const waitMs = WAITS_MS[Math.min(this.#attempt, WAITS_MS.length - 1)];
    this.#attempt += 1;
    this.#setState("reconnecting", { waitMs, attempt: this.#attempt });
    this.#timer = setTimeout(() => this.#open("reconnecting"), waitMs);
    if (this.#asked !== undefined && this.#attempt > 1) void this.#probe();
  }

  /** A browser does not tell a refusal from a server that is away; whether anybody answers at all does. */
  async #probe() {
    try {
      await fetch(new URL(this.#address, location.href));
    } catch {
      this.#refusals = 0;
      return;
    }
    this.#refusals += 1;
    if (this.state !== "reconnecting" || this.#socket !== undefined) return;
    // There is no need to wait for a server that is there.
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#open("reconnecting"), WAITS_MS[0]);
  }

  #drop() {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close(1000);
  }

  #setState(state, detail = {}) {
    this.state = state;
    this.#fire("state", { state, ...detail });
  }

  #fire(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
