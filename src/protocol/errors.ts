/**
 * The one error class, and the one table of codes.
 *
 * A code is the identity of a failure: it travels in HTTP bodies, close reasons and logs, and never changes its
 * meaning. The sentence says what to do; `details` says where.
 */

/** What each code means: HTTP status, whether trying again may help, and the meaning in one sentence. */
export const ERRORS = {
  "event-invalid": {
    status: 400,
    retryable: false,
    meaning: "A known field of an event holds a value that AG-UI does not allow there.",
  },
  "input-invalid": {
    status: 400,
    retryable: false,
    meaning: "A known field of a run input holds a value that AG-UI does not allow there.",
  },
  "session-invalid": {
    status: 400,
    retryable: false,
    meaning: "A message of the session dialect does not have the form that its type asks for.",
  },
  "json-invalid": {
    status: 400,
    retryable: false,
    meaning: "The text is not one JSON value.",
  },
  "frame-invalid": {
    status: 400,
    retryable: false,
    meaning: "The bytes are not a frame of this wire format.",
  },
  "limit-exceeded": {
    status: 413,
    retryable: false,
    meaning: "The data is larger or deeper than the limit that is set for it.",
  },
  "sequence-violation": {
    status: 422,
    retryable: false,
    meaning: "The events come in an order that AG-UI forbids.",
  },
  "projection-refused": {
    status: 406,
    retryable: false,
    meaning: "The peer's dialect cannot say this without changing what it means.",
  },
  "request-invalid": {
    status: 400,
    retryable: false,
    meaning: "The HTTP request cannot be read: its path, its headers or the length of its body.",
  },
  "query-invalid": {
    status: 400,
    retryable: false,
    meaning: "A query parameter holds a value that the route does not allow.",
  },
  "cursor-invalid": {
    status: 400,
    retryable: false,
    meaning: "The cursor is malformed, of another log, or beyond the end of this one.",
  },
  "route-unknown": {
    status: 404,
    retryable: false,
    meaning: "Nothing answers this method and path.",
  },
  "agent-unknown": {
    status: 404,
    retryable: false,
    meaning: "No agent of this name is served here.",
  },
  "thread-unknown": {
    status: 404,
    retryable: false,
    meaning: "There is no thread of this id.",
  },
  "run-unknown": {
    status: 404,
    retryable: false,
    meaning: "The thread has no run of this id.",
  },
  "run-conflict": {
    status: 409,
    retryable: false,
    meaning: "The thread has a run of this id already, and it is not the one that is asked for.",
  },
  "run-ended": {
    status: 409,
    retryable: false,
    meaning: "The run has ended: what is written to it now goes nowhere.",
  },
  "thread-busy": {
    status: 409,
    retryable: true,
    meaning: "Another run of the thread has not ended yet.",
  },
  "media-type-unsupported": {
    status: 415,
    retryable: false,
    meaning: "The body is not of a content type that the route reads.",
  },
  "agent-failed": {
    status: 500,
    retryable: false,
    meaning: "The agent threw an error that carries no code of ours.",
  },
  "internal-error": {
    status: 500,
    retryable: false,
    meaning: "Heddle failed in a way that it does not know; the server's log has the cause.",
  },
  "server-closing": {
    status: 503,
    retryable: true,
    meaning: "The server is shutting down and takes no more requests.",
  },
  "config-invalid": {
    status: 500,
    retryable: false,
    meaning: "A setting holds a value that Heddle cannot start with.",
  },
  "address-unavailable": {
    status: 500,
    retryable: true,
    meaning: "The server cannot listen on this host and port.",
  },
} as const satisfies Record<string, ErrorEntry>;

/** One row of the table of codes. */
export interface ErrorEntry {
  /** HTTP status that carries this code. */
  readonly status: number;
  /** Whether the same request may succeed later, unchanged. */
  readonly retryable: boolean;
  /** What happened, in one sentence. */
  readonly meaning: string;
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
    return ERRORS[this.code].retryable;
  }

  /** The body that crosses the wire: no stack, no cause. */
  toJSON(): ErrorBody {
    return { error: { code: this.code, message: this.message, details: this.details } };
  }
}
