/**
 * What a client says over a WebSocket: one JSON object in each frame. Here only its form is judged; what it asks for is
 * judged where the same is asked over HTTP.
 */
import { HeddleError, decodeJson } from "../../protocol/index.ts";
import { BUSY_POLICIES } from "../index.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What a field holds. */
interface Field<T> {
  readonly expected: string;
  read(value: unknown): T | undefined;
}

const text: Field<string> = {
  expected: "a text",
  read: (value) => (typeof value === "string" && value !== "" ? value : undefined),
};
const flag: Field<boolean> = {
  expected: "true or false",
  read: (value) => (typeof value === "boolean" ? value : undefined),
};
const count: Field<number> = {
  expected: "a whole number from 0",
  read: (value) => (Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined),
};
const list: Field<readonly unknown[]> = {
  expected: "a list",
  read: (value) => (Array.isArray(value) ? value : undefined),
};
const object: Field<Fields> = {
  expected: "an object",
  read: (value) => (isFields(value) ? value : undefined),
};
const oneOf = <const T extends string>(words: readonly T[]): Field<T> => ({
  expected: words.join(", "),
  read: (value) => words.find((word) => word === value),
});

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const SHOW = { protocol: text, meta: flag, raw: flag } as const;
const TRACE = { traceparent: text, tracestate: text } as const;

/** Every frame of a client: what it has to have, and what it may. */
export const CLIENT_FRAMES = {
  /** Starts a run, or joins the one that has its ids, and follows it. */
  run: {
    needs: { agent: text, input: object },
    may: {
      attach: flag,
      onBusy: oneOf(BUSY_POLICIES),
      onDisconnect: oneOf(["continue", "cancel"]),
      parent: text,
      after: text,
      ...TRACE,
      ...SHOW,
    },
  },
  /** Answers what a thread waits for: questions, and calls that the client executes. A run goes on from there. */
  answer: {
    needs: { agent: text, thread: text },
    may: { run: text, resume: list, results: list, tools: list, attach: flag, after: text, ...TRACE, ...SHOW },
  },
  /** Follows a thread, from a cursor or from the beginning. */
  attach: {
    needs: { thread: text },
    may: {
      after: text,
      run: text,
      head: text,
      all: flag,
      follow: flag,
      prelude: flag,
      onGap: oneOf(["reset", "error"]),
      ...SHOW,
    },
  },
  /** Follows a thread no more. */
  detach: { needs: { thread: text }, may: {} },
  /** Stops a run. */
  cancel: { needs: { thread: text, run: text }, may: {} },
  /** Claims a frontend call. */
  claim: { needs: { thread: text, call: text, holder: text }, may: { leaseMs: count } },
  /** Shows a newer token. */
  auth: { needs: { token: text }, may: {} },
  /** Asks whether anybody is there. */
  ping: { needs: {}, may: {} },
} as const;

type Table = typeof CLIENT_FRAMES;
type Read<F> = F extends Field<infer T> ? T : never;

/** What a client says. */
export type ClientFrame = {
  [K in keyof Table]: { readonly type: K; readonly ref?: string } & {
    readonly [N in keyof Table[K]["needs"]]: Read<Table[K]["needs"][N]>;
  } & { readonly [N in keyof Table[K]["may"]]?: Read<Table[K]["may"][N]> };
}[keyof Table];

/** Longest `ref`, in characters. */
const MAX_REF_CHARS = 128;

const REF: Field<string> = {
  expected: `a text of up to ${MAX_REF_CHARS} characters`,
  read: (value) => (typeof value === "string" && value.length <= MAX_REF_CHARS ? value : undefined),
};

/** The `ref` of a frame, also of one that cannot be read otherwise, so that its sender knows which is meant. */
export const refOf = (value: unknown): string | undefined => (isFields(value) ? REF.read(value["ref"]) : undefined);

/** Reads the JSON of a frame. Throws `json-invalid` and, where it is too large or too deep, `limit-exceeded`. */
export const readFrameJson = (bytes: Uint8Array, maxBytes: number): unknown => decodeJson(bytes, { maxBytes });

/** Judges the form of a frame. Throws `frame-invalid`. */
export function readClientFrame(value: unknown): ClientFrame {
  if (!isFields(value)) throw refused("", "an object", value);
  const { type } = value;
  if (!isFrameType(type)) throw refused("/type", Object.keys(CLIENT_FRAMES).join(", "), type);
  const { needs, may } = CLIENT_FRAMES[type];
  const frame: Record<string, unknown> = { type };
  for (const [name, field] of Object.entries<Field<unknown>>({ ref: REF, ...may, ...needs })) {
    if (value[name] === undefined && !Object.hasOwn(needs, name)) continue;
    const read = field.read(value[name]);
    if (read === undefined) throw refused(`/${name}`, field.expected, value[name]);
    frame[name] = read;
  }
  if (type === "answer" && value["resume"] === undefined && value["results"] === undefined) {
    throw refused("/resume", "answers to questions here, or to calls in results", undefined);
  }
  return frame as ClientFrame;
}

const isFrameType = (type: unknown): type is keyof Table =>
  typeof type === "string" && Object.hasOwn(CLIENT_FRAMES, type);

const SHOWN_CHARS = 60;

function refused(path: string, expected: string, value: unknown): HeddleError {
  const received = value === undefined ? "nothing" : JSON.stringify(value).slice(0, SHOWN_CHARS);
  const message = `${path === "" ? "A frame" : `${path} of a frame`} is ${received}: expected ${expected}.`;
  return new HeddleError("frame-invalid", message, { path, expected, received });
}
