/** The sessions of a server, as applications and hosts have them. */
import type { HeddleError } from "../../protocol/index.ts";
import type { Heddle, Principal } from "../index.ts";
import type { Wire } from "../ws/index.ts";
import { ActingSessions } from "./acting-sessions.ts";
import type { Around, SessionEntrance } from "./acting-sessions.ts";
import type { SessionActs } from "./session-acts.ts";
import { SessionDesk } from "./session-desk.ts";
import type { SessionOptions, SessionSettings } from "./session-options.ts";
import { SessionRegistry } from "./session-registry.ts";
import type { SessionLogger } from "./session-registry.ts";

/** Somebody who was let in, and the session that they are about to enter. */
export interface SessionVisitor {
  /** Who. */
  readonly principal: Principal;
  /** The session. */
  readonly entrance: SessionEntrance;
}

/** What a host knows, and sessions do not. */
export interface SessionHost {
  /** Takes a request of somebody, or throws `rate-limited`. Default: takes any. */
  readonly take?: ((principal: Principal) => void) | undefined;
  /** Does something under what the host keeps for the connection, such as headers that agents may read. Default: nothing. */
  readonly around?: Around | undefined;
  /** Told of a failure that is nobody's fault but ours; gives the error for the client. */
  readonly faultOf: (error: unknown) => HeddleError;
  /** Told of what clients are refused, with the error that they get. Default: nobody. */
  readonly onRefusal?: ((error: HeddleError) => void) | undefined;
}

/** The sessions of a server. What it does by itself it does as anybody. */
export interface Sessions extends SessionActs {
  /** Path that the endpoints stand under. */
  readonly path: string;
  /** The endpoints and their rules, by name. */
  readonly endpoints: ReadonlyMap<string, SessionSettings>;
  /** How many live. */
  readonly size: number;
  /** What somebody does with sessions, within what they may. */
  as(principal: Principal): SessionActs;
  /** Judges somebody who opens a socket. Throws `agent-unknown`, `thread-unknown` and `role-missing`. */
  admit(principal: Principal, endpoint: string, sessionId?: string): Promise<SessionVisitor>;
  /** Serves a socket, which is open: `session-started` is on its way. */
  serve(visitor: SessionVisitor, wire: Wire, host: SessionHost): SessionDesk;
  /** Ends them all: the server goes away. */
  end(): void;
}

/** Makes the sessions of a server. Throws `config-invalid`, also for an endpoint whose agent is not served. */
export const createSessions = (
  heddle: Heddle,
  options: SessionOptions = {},
  onLog: SessionLogger = () => undefined,
): Sessions => new ServerSessions(heddle, new SessionRegistry(heddle, options, onLog));

class ServerSessions extends ActingSessions implements Sessions {
  readonly path: string;
  readonly endpoints: ReadonlyMap<string, SessionSettings>;
  readonly #heddle: Heddle;
  readonly #registry: SessionRegistry;

  constructor(heddle: Heddle, registry: SessionRegistry) {
    super(registry, heddle);
    this.#heddle = heddle;
    this.#registry = registry;
    this.path = registry.path;
    this.endpoints = registry.endpoints;
  }

  get size(): number {
    return this.#registry.size;
  }

  as(principal: Principal): ActingSessions {
    // When the token ends, whoever holds the connection says so, and not each stream by itself.
    const { expiresAtMs: _expiresAtMs, ...lasting } = principal;
    return new ActingSessions(this.#registry, this.#heddle.as(lasting));
  }

  async admit(principal: Principal, endpoint: string, sessionId?: string): Promise<SessionVisitor> {
    return { principal, entrance: await this.as(principal).entrance(endpoint, sessionId) };
  }

  serve(
    { principal, entrance }: SessionVisitor,
    wire: Wire,
    { take, around = (work) => work(), faultOf, onRefusal = () => undefined }: SessionHost,
  ): SessionDesk {
    const { expiresAtMs } = principal;
    return new SessionDesk({
      sessions: this.as(principal),
      entrance,
      wire,
      take: () => take?.(principal),
      around,
      faultOf,
      onRefusal,
      expiresAtMs,
    });
  }

  end(): void {
    this.#registry.end();
  }
}
