/**
 * The sessions that live, the endpoints that they belong to, and the room that they may take.
 *
 * A session is found by who has it, where and under which id, so nobody finds another's. What outlives it is in the log.
 */
import { HeddleError } from "../../protocol/index.ts";
import { rateLimits } from "../auth/index.ts";
import type { RateLimits } from "../auth/index.ts";
import type { Heddle, Principal } from "../index.ts";
import { LiveSession } from "./live-session.ts";
import type { SessionBeginning } from "./live-session.ts";
import { SESSION_PATH, assertSessionOptions, endpointsOf } from "./session-options.ts";
import type { SessionOptions, SessionSettings } from "./session-options.ts";

/** Told what happens with sessions. */
export type SessionLogger = (
  level: "info" | "error",
  message: string,
  fields: Readonly<Record<string, unknown>>,
) => void;

/** Why an idle session has to go before its time. */
const CROWDED = {
  code: "limit-exceeded",
  message: "The session was idle, and its room is needed: continue it by its id.",
};

/** The sessions that live. */
export class SessionRegistry {
  /** Path that the endpoints stand under. */
  readonly path: string;
  /** The endpoints and their rules, by name. */
  readonly endpoints: ReadonlyMap<string, SessionSettings>;
  readonly #heddle: Heddle;
  readonly #onLog: SessionLogger;
  readonly #live = new Map<string, LiveSession>();
  readonly #limits = new Map<string, RateLimits>();
  readonly #memoryLimitBytes: number;

  constructor(heddle: Heddle, options: SessionOptions, onLog: SessionLogger) {
    assertSessionOptions(options);
    this.path = options.path ?? SESSION_PATH;
    this.endpoints = endpointsOf(options, heddle.agents);
    this.#memoryLimitBytes = options.memoryLimitBytes ?? Infinity;
    this.#heddle = heddle;
    this.#onLog = onLog;
    for (const [name, { rateLimit }] of this.endpoints) {
      if (rateLimit !== undefined) this.#limits.set(name, rateLimits({ perPrincipal: rateLimit }));
    }
  }

  /** How many live. */
  get size(): number {
    return this.#live.size;
  }

  /** Whether the server is going away. */
  get isClosing(): boolean {
    return this.#heddle.closing;
  }

  /** The rules of an endpoint; of the only one where none is named. Throws `agent-unknown`. */
  endpoint(name: string | undefined): { readonly name: string; readonly settings: SessionSettings } {
    const names = [...this.endpoints.keys()];
    const meant = name ?? (names.length === 1 ? names[0] : undefined) ?? "";
    const settings = this.endpoints.get(meant);
    if (settings !== undefined) return { name: meant, settings };
    const known = names.length === 0 ? "there is none" : `there is ${names.join(", ")}`;
    throw new HeddleError("agent-unknown", `No endpoint of this name is served here; ${known}.`, { endpoint: meant });
  }

  /** A session that lives, at an endpoint or at whichever. */
  find(principal: Principal, sessionId: string, endpoint?: string): LiveSession | undefined {
    for (const name of endpoint === undefined ? this.endpoints.keys() : [endpoint]) {
      const live = this.#live.get(keyOf(principal, name, sessionId));
      if (live !== undefined) return live;
    }
    return undefined;
  }

  /** Begins a session. */
  add(principal: Principal, beginning: SessionBeginning): LiveSession {
    const { sessionId, endpoint } = beginning;
    const key = keyOf(principal, endpoint, sessionId);
    const about = { sessionId, endpoint, tenant: principal.tenant };
    const live = new LiveSession(beginning, ({ reason, error }) => {
      this.#live.delete(key);
      this.#onLog("info", "a session ended", { ...about, reason, ...(error && { code: error.code }) });
    });
    this.#live.set(key, live);
    this.#onLog("info", "a session started", about);
    this.makeRoom(live);
    return live;
  }

  /** Ends the oldest idle sessions until the rest has room, this one excepted. */
  makeRoom(live: LiveSession): void {
    const limit = this.#memoryLimitBytes;
    if (limit === Infinity) return;
    const all = [...this.#live.values()];
    let held = all.reduce((sum, { heldBytes }) => sum + heldBytes, 0);
    if (held <= limit) return;
    const idle = all.filter((each) => each !== live && each.isIdle);
    idle.sort((one, other) => one.lastActivityMs - other.lastActivityMs);
    for (const oldest of idle) {
      if (held <= limit) return;
      held -= oldest.heldBytes;
      oldest.end({ reason: "timeout", error: CROWDED });
    }
  }

  /** Takes a request of a session. Throws `rate-limited`. */
  take(principal: Principal, endpoint: string, sessionId: string): void {
    try {
      this.#limits.get(endpoint)?.take(keyOf(principal, endpoint, sessionId));
    } catch (error) {
      if (!(error instanceof HeddleError) || !("retryAfterMs" in error.details)) throw error;
      const retryAfterMs = Number(error.details.retryAfterMs);
      const message = `Too many requests in this session: try again in ${retryAfterMs} ms.`;
      throw new HeddleError("rate-limited", message, { limit: "session", retryAfterMs });
    }
  }

  /** Tells of a failure that nobody is told of otherwise. */
  report(error: unknown, sessionId: string): void {
    this.#onLog("error", "a session has trouble", { err: error, sessionId });
  }

  /** Ends them all: the server goes away. */
  end(): void {
    for (const live of this.#live.values()) live.end({ reason: "shutdown" });
  }
}

const keyOf = ({ tenant, user }: Principal, endpoint: string, sessionId: string): string =>
  JSON.stringify([tenant, user, endpoint, sessionId]);
