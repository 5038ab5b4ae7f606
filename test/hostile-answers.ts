/**
 * What an agent may answer that means harm, is broken or only odd, by name: bytes, frames, order, size, silence, death.
 *
 * Each kind says which ends its run may honestly have; one that never ends by itself has to be stopped. The same table
 * is answered over sockets and in the process, so that both are tried with every kind.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import type { Event } from "../src/protocol/index.ts";
import { BINARY_MEDIA_TYPE, encodeBinary } from "../src/protocol/binary/index.ts";
import { arbitraryEvent, arbitraryJson } from "./arbitrary-event.ts";
import { arbitrarySoup } from "./arbitrary-stream.ts";

/** The run that is asked for, and a number that decides the details of its answer. */
export interface Asked {
  /** The thread. */
  readonly threadId: string;
  /** The run. */
  readonly runId: string;
  /** Decides what is left to chance. */
  readonly seed: number;
}

/** One answer. */
export interface HostileAnswer {
  /** Status. Default 200; `none` sends no head at all. */
  readonly status?: number | "none";
  /** Headers. Default: those of an event stream. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What is sent. Default: nothing. */
  readonly body?: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;
  /** What follows. Default: the end. */
  readonly lastly?: "dies" | "hangs";
}

/** One kind of answer. */
export interface HostileKind {
  /** How such a run may end: the code of its RUN_ERROR, or its outcome. Absent: as it says itself. */
  readonly ends?: readonly string[];
  /** What it says in full; absent where that is not known. */
  readonly text?: string;
  /** Whether it goes on until somebody stops it. */
  readonly endless?: true;
  /** Answers. */
  answer(asked: Asked): HostileAnswer;
}

const MIB = 1024 * 1024;
const TEXT = "hello";

const frames = (events: readonly unknown[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

const started = ({ threadId, runId }: Asked): Event => ({ type: "RUN_STARTED", threadId, runId });
const finished = ({ threadId, runId }: Asked): Event => ({ type: "RUN_FINISHED", threadId, runId });
const delta = (text: string, messageId = "m"): Event => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta: text });

/** A run as it should be. */
const hello = (asked: Asked): readonly Event[] => [
  started(asked),
  { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
  delta("hel"),
  delta("lo"),
  { type: "TEXT_MESSAGE_END", messageId: "m" },
  finished(asked),
];

const sample = <T>(arbitrary: fc.Arbitrary<T>, { seed }: Asked): readonly T[] =>
  fc.sample(arbitrary, { seed, numRuns: 1 });
const bytes = (asked: Asked, max = 20_000): readonly Uint8Array[] =>
  sample(fc.uint8Array({ minLength: 1, maxLength: max, size: "max" }), asked);
const oneOf = <T>(values: readonly T[], { seed }: Asked): T | undefined => values[seed % values.length];

function* repeated(text: string | Uint8Array, times = Infinity): Generator<string | Uint8Array, void, undefined> {
  for (let index = 0; index < times; index++) yield text;
}

/** What comes first, and then the same for ever. */
function* after(first: string | Uint8Array, text: string): Generator<string | Uint8Array, void, undefined> {
  yield first;
  yield* repeated(text);
}

/** Byte by byte, each in a turn of its own. */
async function* dripping(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  for (const byte of Buffer.from(text)) {
    yield Uint8Array.of(byte);
    await nextTurn();
  }
}

const shuffled = <T>(values: readonly T[], asked: Asked): readonly T[] =>
  sample(fc.shuffledSubarray([...values], { minLength: values.length }), asked)[0] ?? [];

/** One that is opened so often before it is closed. */
const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

const bombs = { zeros: gzipSync(new Uint8Array(64 * MIB)), lines: gzipSync(Buffer.alloc(4 * MIB, "\n")) };
const GZIP = { "content-type": "text/event-stream", "content-encoding": "gzip" };
const BINARY = { "content-type": BINARY_MEDIA_TYPE };

/** Bytes and frames that cannot be read. */
const BROKEN = {
  "random bytes": {
    ends: ["agent-stream-cut", "agent-response-invalid"],
    answer: (asked) => ({ body: bytes(asked) }),
  },
  "frames of random bytes": {
    ends: ["agent-response-invalid", "event-invalid", "agent-stream-cut"],
    answer: (asked) => ({ body: ["data: ", ...bytes(asked, 200), "x\n\n"] }),
  },
  "frames of any JSON": {
    ends: ["event-invalid", "agent-stream-cut"],
    answer: (asked) => ({ body: [frames(sample(arbitraryJson(), asked))] }),
  },
  "a string that no field allows": {
    ends: ["event-invalid"],
    answer: (asked) => ({ body: [frames([started(asked), { ...delta("x"), delta: 5 }])] }),
  },
  "one line without end": {
    ends: ["agent-response-invalid"],
    answer: () => ({ body: after("data: ", "x".repeat(64 * 1024)) }),
  },
  "broken gzip": { ends: ["agent-stream-cut"], answer: (asked) => ({ headers: GZIP, body: bytes(asked) }) },
  "a gzip bomb of zeros": {
    ends: ["agent-response-invalid"],
    answer: () => ({ headers: GZIP, body: [bombs.zeros] }),
  },
  "a gzip bomb of lines": { ends: ["agent-stream-cut"], answer: () => ({ headers: GZIP, body: [bombs.lines] }) },
  "random protobuf": {
    ends: ["agent-response-invalid", "agent-stream-cut", "event-invalid"],
    answer: (asked) => ({ headers: BINARY, body: bytes(asked) }),
  },
  "protobuf of four gigabytes": {
    ends: ["agent-response-invalid"],
    answer: () => ({ headers: BINARY, body: after(Uint8Array.of(255, 255, 255, 255), "x".repeat(64 * 1024)) }),
  },
  "protobuf cut inside a frame": {
    ends: ["agent-stream-cut"],
    answer: (asked) => ({ headers: BINARY, body: [encodeBinary(started(asked)).subarray(0, -2)] }),
  },
  "lines of JSON as an event stream": {
    ends: ["agent-stream-cut"],
    answer: (asked) => ({ body: hello(asked).map((event) => `${JSON.stringify(event)}\n`) }),
  },
} as const satisfies Record<string, HostileKind>;

/** Answers that are no streams. */
const REFUSED = {
  "lines of JSON": {
    ends: ["agent-response-invalid"],
    answer: (asked) => ({
      headers: { "content-type": "application/x-ndjson" },
      body: [JSON.stringify(started(asked))],
    }),
  },
  "another content type": {
    ends: ["agent-response-invalid"],
    answer: (asked) => ({
      headers: { "content-type": oneOf(["application/json", "image/png", "x", "text/event-streamy"], asked) ?? "" },
      body: bytes(asked),
    }),
  },
  "a page": {
    ends: ["agent-response-invalid"],
    answer: () => ({ headers: { "content-type": "text/html" }, body: ["<!doctype html><title>Hi</title>"] }),
  },
  "an endless page": {
    ends: ["agent-response-invalid"],
    answer: () => ({ headers: { "content-type": "text/html" }, body: after("<pre>", "x".repeat(1000)) }),
  },
  "an error": {
    ends: ["agent-unreachable"],
    answer: (asked) => ({ status: oneOf([400, 401, 404, 418, 429, 500, 503, 599], asked) ?? 500, body: bytes(asked) }),
  },
  "an endless error": {
    ends: ["agent-unreachable"],
    answer: () => ({ status: 500, body: repeated("x".repeat(1000)) }),
  },
  "an empty answer": {
    ends: ["agent-response-invalid", "agent-unreachable"],
    answer: (asked) => ({ status: oneOf([204, 205, 304], asked) ?? 204 }),
  },
  "a redirect loop": {
    ends: ["address-refused"],
    answer: (asked) => ({ status: oneOf([301, 302, 307, 308], asked) ?? 302, headers: { location: "" + asked.seed } }),
  },
  "a redirect elsewhere": {
    ends: ["address-refused"],
    answer: () => ({ status: 307, headers: { location: "http://127.0.0.2:9/" } }),
  },
  "a redirect nowhere": {
    ends: ["agent-unreachable"],
    answer: (asked) => ({ status: 302, headers: oneOf([{}, { location: "" }, { location: "http://" }], asked) ?? {} }),
  },
} as const satisfies Record<string, HostileKind>;

/** Too much, too large, too deep. */
const EXCESSIVE = {
  "endless events": {
    ends: ["limit-exceeded"],
    answer: (asked) => ({ body: after(frames(hello(asked).slice(0, 2)), frames([delta("x")]).repeat(50)) }),
  },
  "endless events that nobody knows": {
    ends: ["limit-exceeded"],
    answer: (asked) => ({ body: after(frames([started(asked)]), frames([{ type: "ODD" }]).repeat(50)) }),
  },
  "endless beginnings": {
    ends: ["limit-exceeded"],
    answer: (asked) => ({ body: repeated(frames([started(asked)]).repeat(50)) }),
  },
  "endless ends": {
    ends: ["success"],
    text: TEXT,
    answer: (asked) => ({ body: after(frames(hello(asked)), frames([finished(asked)]).repeat(50)) }),
  },
  "talk behind the end": {
    ends: ["success"],
    text: TEXT,
    answer: (asked) => ({ body: [frames([...hello(asked), delta("more"), { type: "CUSTOM", name: "n", value: 1 }])] }),
  },
  "noise behind the end": {
    ends: ["success"],
    text: TEXT,
    answer: (asked) => ({ body: after(frames(hello(asked)), ": still here\n\n") }),
  },
  "ever more messages open": {
    ends: ["limit-exceeded"],
    answer: (asked) => ({
      body: Array.from({ length: 1000 }, (_, index) =>
        frames([{ type: "TEXT_MESSAGE_START", messageId: `${asked.seed} ${index}`, role: "assistant" }]),
      ),
    }),
  },
  "an event beyond the limit": {
    ends: ["limit-exceeded"],
    answer: (asked) => ({ body: [frames([...hello(asked).slice(0, 2), delta("x".repeat(1.5 * MIB))])] }),
  },
  "an event of 64 MiB": {
    ends: ["agent-response-invalid"],
    answer: () => ({ body: [`data: {"type":"CUSTOM","name":"`, ...repeated("x".repeat(MIB), 64), `"}\n\n`] }),
  },
  "a bomb of nested lists": {
    ends: ["event-invalid", "limit-exceeded", "agent-response-invalid"],
    answer: (asked) => ({
      body: [
        frames([started(asked)]),
        `data: {"type":"CUSTOM","name":"n","value":${nested(oneOf([1000, 20_000, 200_000], asked) ?? 1)}}\n\n`,
      ],
    }),
  },
  "a state of nested lists": {
    ends: ["event-invalid", "limit-exceeded", "agent-response-invalid"],
    answer: (asked) => ({
      body: [`data: {"type":"STATE_SNAPSHOT","snapshot":${nested(oneOf([1000, 20_000], asked) ?? 1)}}\n\n`],
    }),
  },
  "a state that doubles with every event": {
    ends: ["success", "limit-exceeded"],
    answer: (asked) => ({
      body: [
        frames([started(asked), { type: "STATE_SNAPSHOT", snapshot: { text: "x".repeat(1000) } }]),
        ...Array.from({ length: 40 }, (_, index) =>
          frames([{ type: "STATE_DELTA", delta: [{ op: "copy", from: "", path: `/${index}` }] }]),
        ),
        frames([finished(asked)]),
      ],
    }),
  },
  "a state that doubles in one event": {
    ends: ["success", "limit-exceeded"],
    answer: (asked) => {
      const delta = Array.from({ length: 40 }, (_, index) => ({ op: "copy", from: "", path: `/${index}` }));
      return {
        body: [
          frames([
            started(asked),
            { type: "STATE_SNAPSHOT", snapshot: { a: "x" } },
            { type: "STATE_DELTA", delta },
            finished(asked),
          ]),
        ],
      };
    },
  },
  "a state that events make ever deeper": {
    ends: ["success", "limit-exceeded"],
    answer: (asked) => ({
      body: [
        frames([started(asked), { type: "STATE_SNAPSHOT", snapshot: { a: {} } }]),
        ...Array.from({ length: 30 }, (_, index) => {
          const value: unknown = JSON.parse(`${'{"a":'.repeat(200)}{}${"}".repeat(200)}`);
          const move = { op: "move", from: "/a", path: "/b" };
          const wrap = { op: "add", path: "/a", value };
          const back = { op: "move", from: "/b", path: `/a${"/a".repeat(200)}` };
          const add = { op: "add", path: `/a${"/a".repeat(200 * index)}`, value };
          return frames([{ type: "STATE_DELTA", delta: index % 2 === 0 ? [add] : [move, wrap, back] }]);
        }),
        frames([finished(asked)]),
      ],
    }),
  },
  "large events, as fast as they are taken": {
    ends: ["success"],
    answer: (asked) => ({
      body: [
        frames(hello(asked).slice(0, 2)),
        ...repeated(frames([delta("x".repeat(900_000))]), 30),
        frames(hello(asked).slice(-2)),
      ],
    }),
  },
} as const satisfies Record<string, HostileKind>;

/** Order, identity and form. */
const DISORDERLY = {
  "wrong order": {
    ends: ["success", "agent-stream-cut"],
    answer: (asked) => ({ body: [frames(shuffled(hello(asked), asked))] }),
  },
  "any events": {
    answer: (asked) => ({ body: [frames(sample(fc.array(arbitraryEvent(), { maxLength: 12 }), asked)[0] ?? [])] }),
  },
  "sloppy events": {
    answer: (asked) => ({
      body: [frames(sample(arbitrarySoup({ chunks: true, runs: 2, moves: 12 }), asked)[0] ?? [])],
    }),
  },
  "events of other runs": {
    ends: ["success"],
    text: TEXT,
    answer: (asked) => ({ body: [frames(hello({ ...asked, threadId: "elsewhere", runId: "another" }))] }),
  },
  "the same ids again": {
    ends: ["success"],
    answer: (asked) => ({
      body: [...hello(asked).slice(0, -1), ...hello(asked)].map((event) => `id: 1\ndata: ${JSON.stringify(event)}\n\n`),
    }),
  },
  "keys of prototypes": {
    ends: ["success", "event-invalid"],
    answer: (asked) => ({
      body: [
        frames([started(asked), { type: "STATE_SNAPSHOT", snapshot: {} }]),
        'data: {"type":"STATE_DELTA","delta":[{"op":"add","path":"/__proto__/polluted","value":1}]}\n\n',
        'data: {"type":"CUSTOM","name":"n","value":{"__proto__":{"polluted":1}},"__proto__":{"polluted":1}}\n\n',
        frames([finished(asked)]),
      ],
    }),
  },
  "junk behind the run": {
    ends: ["success"],
    text: TEXT,
    answer: (asked) => ({ body: [frames(hello(asked)), "data: [DONE]\n\n", ...bytes(asked)] }),
  },
  "CRLF, CR or a byte order mark": {
    ends: ["success"],
    text: TEXT,
    answer: (asked) => {
      const text = frames(hello(asked));
      return {
        body: [oneOf([text.replaceAll("\n", "\r\n"), text.replaceAll("\n", "\r"), `\uFEFF${text}`], asked) ?? ""],
      };
    },
  },
  "byte by byte": { ends: ["success"], text: TEXT, answer: (asked) => ({ body: dripping(frames(hello(asked))) }) },
  protobuf: {
    ends: ["success"],
    text: TEXT,
    answer: (asked) => ({ headers: BINARY, body: hello(asked).map((event) => encodeBinary(event)) }),
  },
  "no content type": {
    ends: ["success"],
    text: TEXT,
    answer: (asked) => ({ headers: {}, body: [frames(hello(asked))] }),
  },
} as const satisfies Record<string, HostileKind>;

/** Silence and death. */
const LOST = {
  "death before the answer": { ends: ["agent-unreachable"], answer: () => ({ status: "none", lastly: "dies" }) },
  "death inside an event": {
    ends: ["agent-stream-cut"],
    answer: (asked) => {
      const text = frames(hello(asked));
      return { body: [text.slice(0, 1 + (asked.seed % (text.length - 30)))], lastly: "dies" };
    },
  },
  "an end inside an event": {
    ends: ["agent-stream-cut"],
    answer: (asked) => {
      const text = frames(hello(asked));
      return { body: [text.slice(0, 1 + (asked.seed % (text.length - 30)))] };
    },
  },
  "no answer": { ends: ["cancelled"], endless: true, answer: () => ({ status: "none", lastly: "hangs" }) },
  "silence from the beginning": { ends: ["cancelled"], endless: true, answer: () => ({ lastly: "hangs" }) },
  "silence inside an event": {
    ends: ["cancelled"],
    endless: true,
    answer: (asked) => ({ body: [frames(hello(asked)).slice(0, 150)], lastly: "hangs" }),
  },
  "heartbeats only": {
    ends: ["cancelled"],
    endless: true,
    answer: (asked) => ({ body: after(frames([started(asked)]), ": still here\n\n") }),
  },
} as const satisfies Record<string, HostileKind>;

/** Every kind, by name. */
export const HOSTILE_KINDS: Readonly<Record<string, HostileKind>> = {
  ...BROKEN,
  ...REFUSED,
  ...EXCESSIVE,
  ...DISORDERLY,
  ...LOST,
};
