/**
 * A route: what it is called by, what it takes, what it answers, and how. One table of them serves every host and is
 * what `/openapi.json` is written from.
 */
import type { ErrorCode } from "../../protocol/index.ts";
import type { JsonSchema } from "../../protocol/schema.ts";
import type { Authenticate, RateLimits } from "../auth/index.ts";
import type { Conversations, Heddle } from "../index.ts";
import type { Answer } from "./answer.ts";
import type { Parameter } from "./parameter.ts";

/** A request, as a route sees it. */
export interface RouteRequest {
  /** Values of the placeholders in the path, decoded. */
  readonly path: Readonly<Record<string, string>>;
  /** The query. */
  readonly query: URLSearchParams;
  /** A header's value, by its name in lower case. */
  header(name: string): string | undefined;
  /** The body, read as JSON; undefined where there is none. */
  readonly body: unknown;
  /** The body as it comes, for a route that reads bytes; nothing for any other. Fails with a code of ours. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Scheme and host that the caller used. */
  readonly origin: string;
  /** Aborts when the caller is gone. */
  readonly signal: AbortSignal;
}

/** Where routes live, and what they work on. */
export interface Site {
  /** The server behind them. */
  readonly server: Heddle;
  /** Finds out who asks; absent where nobody is asked. */
  readonly authenticate?: Authenticate | undefined;
  /** How many requests are taken. */
  readonly limits?: RateLimits | undefined;
  /** Largest body that is read, in bytes. */
  readonly maxBodyBytes: number;
  /** Whether operators may have addresses of agents tried. */
  readonly checks: boolean;
  /** Path that they are mounted under; empty for the root. */
  readonly prefix: string;
  /** Request headers that agents may read while they run, in lower case. */
  readonly forwardHeaders: readonly string[];
  /** Told of what was changed in a run input. */
  readonly onWarnings: (
    warnings: readonly unknown[],
    run: { readonly threadId: string; readonly runId: string },
  ) => void;
}

/** The same for one request. */
export interface Desk extends Site {
  /** What whoever asks does, within what they may. */
  readonly heddle: Conversations;
}

/** One answer of a route, for its description. */
export interface Described {
  /** What it means. */
  readonly description: string;
  /** Media types, with the schema of each. */
  readonly content?: Readonly<Record<string, JsonSchema>>;
}

/** A body that is read as it comes. */
export interface ByteBody {
  /** The only content type that is taken. */
  readonly mediaType: string;
  /** Most bytes. */
  readonly maxBytes: number;
}

/** Methods of routes. */
export const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/** One route. */
export interface Route {
  /** Its name in the description. */
  readonly id: string;
  /** Method. */
  readonly method: (typeof METHODS)[number];
  /** Path, with placeholders in braces. */
  readonly path: string;
  /** What it does. */
  readonly summary: string;
  /** Parameters of query and headers. */
  readonly parameters?: readonly Parameter<unknown>[];
  /** Schema of the body; absent, the route reads none, or bytes. */
  readonly body?: JsonSchema;
  /** Reads its body as bytes instead of JSON. */
  readonly bytes?: ByteBody;
  /** Answers by status, without the errors. */
  readonly answers: Readonly<Record<number, Described>>;
  /** Errors of its own; those that every route has are not listed. */
  readonly errors: readonly ErrorCode[];
  /** Who may ask: nobody has to say who they are, or only an operator. Default: everybody who does. */
  readonly needs?: "nobody" | "operator";
  /** Whether it may answer a stream that never ends. */
  readonly streams?: boolean;
  /** Answers a request. */
  answer(desk: Desk, request: RouteRequest): Answer | Promise<Answer>;
}
