/**
 * The one error class, and the one table of codes.
 *
 * A code is the identity of a failure: it travels in HTTP bodies, close reasons and logs, and never changes its
 * meaning. The sentence says what to do; `details` says where.
 */

/** Every code, with the HTTP status that carries it, and whether trying again may help. */
export const ERRORS = {
  /** A known field of an event holds a value that AG-UI does not allow there. */
  "event-invalid": { status: 400 },
  /** A known field of a run input holds a value that AG-UI does not allow there. */
  "input-invalid": { status: 400 },
  /** A message of the session dialect does not have the form that its type asks for. */
  "session-invalid": { status: 400 },
  /** The text is not one JSON value. */
  "json-invalid": { status: 400 },
  /** The bytes are not a frame of this wire format. */
  "frame-invalid": { status: 400 },
  /** The data is larger or deeper than the limit that is set for it. */
  "limit-exceeded": { status: 413 },
  /** The events come in an order that AG-UI forbids. */
  "sequence-violation": { status: 422 },
  /** The peer's dialect cannot say this without changing what it means. */
  "projection-refused": { status: 406 },
  /** The HTTP request cannot be read: its path, its headers or the length of its body. */
  "request-invalid": { status: 400 },
  /** A query parameter holds a value that the route does not allow. */
  "query-invalid": { status: 400 },
  /** The cursor is malformed, of another log, or beyond the end of this one. */
  "cursor-invalid": { status: 400 },
  /** The request names a host that is not ours, or comes from a page that may not call. */
  "origin-refused": { status: 403 },
  /** The request does not say who asks, or what it says does not hold: no token, a wrong one, or one that has expired. */
  unauthenticated: { status: 401 },
  /** The keys that tokens are checked with cannot be fetched from whoever issues them. */
  "keys-unavailable": { status: 503, retryable: true },
  /** Whoever asks may see this, but has not the role that doing it takes. */
  "role-missing": { status: 403 },
  /** Too many requests in too short a time. */
  "rate-limited": { status: 429, retryable: true },
  /** Whoever asks has as many runs under way as they may. */
  "runs-full": { status: 429, retryable: true },
  /** Nothing answers this method and path. */
  "route-unknown": { status: 404 },
  /** No agent of this name is served here. */
  "agent-unknown": { status: 404 },
  /** There is no thread of this id. */
  "thread-unknown": { status: 404 },
  /** The thread has no run of this id. */
  "run-unknown": { status: 404 },
  /** The thread has a run of this id already, and it is not the one that is asked for. */
  "run-conflict": { status: 409 },
  /** The run has ended: what is written to it now goes nowhere. */
  "run-ended": { status: 409 },
  /** Another run of the thread has not ended yet. */
  "thread-busy": { status: 409, retryable: true },
  /** As many runs wait in the thread as may. */
  "queue-full": { status: 429, retryable: true },
  /** Another tab or device executes the tool call at the moment. */
  "tool-call-taken": { status: 409, retryable: true },
  /** The tool call waits for nobody: there is none of this id, or it was answered. */
  "tool-call-closed": { status: 409 },
  /** The body is not of a content type that the route reads. */
  "media-type-unsupported": { status: 415 },
  /** The agent threw an error that carries no code of ours. */
  "agent-failed": { status: 500 },
  /** Heddle failed in a way that it does not know; the server's log has the cause. */
  "internal-error": { status: 500 },
  /** The server is shutting down and takes no more requests. */
  "server-closing": { status: 503, retryable: true },
  /** The server cannot be reached, or whatever answers in its place is not Heddle. */
  "server-unreachable": { status: 502, retryable: true },
  /** A setting holds a value that Heddle cannot start with. */
  "config-invalid": { status: 500 },
  /** The server cannot listen on this host and port. */
  "address-unavailable": { status: 500, retryable: true },
  /** What follows the cursor is not here any more: dropped by retention, or gone with the log that it belongs to. */
  "cursor-trimmed": { status: 410 },
  /** There is a thread of this id already. */
  "thread-exists": { status: 409 },
  /** A line of the export cannot be read back; nothing of it was imported. */
  "import-invalid": { status: 400 },
  /** The run belongs to another worker now, or has ended: whoever wrote here has to stop. */
  "run-fenced": { status: 409 },
  /** A batch of the run is missing between the last one that was committed and this one. */
  "batch-gap": { status: 409 },
  /** The process that executed the run died, or lost its lease; the run was closed. */
  "worker-lost": { status: 500, retryable: true },
  /** The database was written by a newer version of Heddle. */
  "schema-too-new": { status: 500 },
  /** Another process writes to this database file. */
  "store-locked": { status: 503 },
  /** The database cannot be written to. */
  "store-read-only": { status: 500 },
  /** The disk is full: nothing was written. */
  "store-full": { status: 507, retryable: true },
  /** The database is damaged, or is not one of Heddle's. */
  "store-corrupt": { status: 500 },
  /** The database cannot be reached, or broke off; what was not acknowledged may be missing. */
  "store-unavailable": { status: 503, retryable: true },
  /** The store was closed before. */
  "store-closed": { status: 503 },
  /** The model's provider refused the credentials. */
  "model-unauthorised": { status: 502 },
  /** The model's provider asks to slow down, or the quota is spent. */
  "model-rate-limited": { status: 502, retryable: true },
  /** The model's provider has no capacity at the moment. */
  "model-overloaded": { status: 502, retryable: true },
  /** The conversation is longer than the model can read. */
  "model-context-exceeded": { status: 502 },
  /** The model's provider refused the request as it stands. */
  "model-request-refused": { status: 502 },
  /** The model's provider sent what is not a stream of its own format. */
  "model-stream-invalid": { status: 502 },
  /** The model's provider cannot be reached, or the connection broke before the end. */
  "model-unreachable": { status: 502, retryable: true },
  /** The model's answer was cut before there was anything to act on. */
  "model-output-cut": { status: 502 },
  /** The model's provider failed in a way of its own. */
  "model-failed": { status: 502, retryable: true },
  /** The remote agent cannot be reached, or answered with an error. */
  "agent-unreachable": { status: 502, retryable: true },
  /** The remote agent sent what is not AG-UI. */
  "agent-response-invalid": { status: 502 },
  /** The remote agent's stream ended before its run did. */
  "agent-stream-cut": { status: 502, retryable: true },
  /** The address is not one that this server may call. */
  "address-refused": { status: 403 },
  /** No tool of this name is known. */
  "tool-unknown": { status: 400 },
  /** The arguments do not fit the tool's schema. */
  "tool-arguments-invalid": { status: 400 },
  /** The tool threw an error. */
  "tool-failed": { status: 500 },
  /** The tool did not return in time. */
  "tool-timeout": { status: 504, retryable: true },
  /** The agent called the model as often as it is allowed to, and was not done. */
  "step-limit": { status: 500 },
  /** The thread waits for answers: to questions, or to tool calls that the client has to execute. */
  "answers-missing": { status: 409 },
  /** The answers do not fit the questions that are open. */
  "resume-invalid": { status: 422 },
} as const satisfies Record<string, ErrorEntry>;

/** One row of the table of codes. */
export interface ErrorEntry {
  /** HTTP status that carries this code. */
  readonly status: number;
  /** Whether the same request may succeed later, unchanged. */
  readonly retryable?: true;
}

/** Every code that Heddle raises. */
export type ErrorCode = keyof typeof ERRORS;

/** Where a value went wrong: a JSON Pointer, what belongs there, and what was found. */
export interface Problem {
  /** JSON Pointer into the judged value; empty for the value itself. */
  readonly path: string;
  /** What the rules allow at that place. */
  readonly expected: string;
  /** What was found there, shortened. */
  readonly received: string;
}

/** The `details` of each code. Codes without an entry carry any record. */
export interface ErrorDetails {
  /** Where the event is wrong. */
  readonly "event-invalid": Problem;
  /** Where the run input is wrong. */
  readonly "input-invalid": Problem;
  /** Where the session message is wrong. */
  readonly "session-invalid": Problem;
  /** Which rule the event breaks, AG-UI's clause for it, and the event itself; no event where the end is what breaks it. */
  readonly "sequence-violation": { readonly rule: string; readonly clause: string; readonly event?: unknown };
  /** Which limit, how much is allowed, and how much came. */
  readonly "limit-exceeded": { readonly limit: string; readonly allowed: number; readonly actual: number };
  /** Which cursor, and why it is refused. */
  readonly "cursor-invalid": { readonly cursor: string; readonly reason: "malformed" | "foreign" | "ahead" };
  /** The role that is needed. */
  readonly "role-missing": { readonly role: string };
  /** What is counted, and when to try again. */
  readonly "rate-limited": { readonly limit: string; readonly retryAfterMs: number };
  /** Which line, and what is wrong with it. */
  readonly "import-invalid": { readonly line: number; readonly problem: string };
  /** Which setting (a flag, a variable or an option), what belongs there, and what was found. */
  readonly "config-invalid": { readonly setting: string; readonly expected: string; readonly received: string };
}

/** The `details` type of one code. */
export type DetailsOf<C extends ErrorCode> = C extends keyof ErrorDetails
  ? ErrorDetails[C]
  : Readonly<Record<string, unknown>>;

/** The JSON form of an error, as HTTP bodies carry it. */
export interface ErrorBody {
  /** The failure. */
  readonly error: {
    /** Identity of the failure. */
    readonly code: ErrorCode;
    /** What to do, in one sentence. */
    readonly message: string;
    /** Where it went wrong. */
    readonly details?: unknown;
  };
}

/** Every failure that Heddle reports: `code` tells them apart, the message says what to do. */
export class HeddleError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name = "HeddleError";
  /** Identity of the failure, a key of `ERRORS`. */
  readonly code: C;
  /** Where it went wrong; its form depends on the code. */
  readonly details: DetailsOf<C>;

  constructor(code: C, message: string, details: DetailsOf<C>, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.details = details;
  }

  /** HTTP status of this code. */
  get status(): number {
    return ERRORS[this.code].status;
  }

  /** Whether the same request may succeed later, unchanged. */
  get retryable(): boolean {
    const entry: ErrorEntry = ERRORS[this.code];
    return entry.retryable === true;
  }

  /** The body that crosses the wire: no stack, no cause. */
  toJSON(): ErrorBody {
    return { error: { code: this.code, message: this.message, details: this.details } };
  }
}
