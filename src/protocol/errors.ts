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
  "projection-refused": {
    status: 406,
    retryable: false,
    meaning: "The peer's dialect cannot say this without changing what it means.",
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
  /** Which limit, how much is allowed, and how much came. */
  readonly "limit-exceeded": { readonly limit: string; readonly allowed: number; readonly actual: number };
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
