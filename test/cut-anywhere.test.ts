/**
 * A run's stream that is cut at every byte, by a proxy in front of a real server process, and attached to again by a client
 * of forty lines: what came before and behind the cut, joined, is the uncut stream, byte for byte, and the agent was
 * started once. Of a run that is over every byte is tried, in the head too, and of a run that is under way a selection.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Event } from "heddle/protocol";
import { createVerifyState, verify, verifyEnd } from "heddle/stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Random } from "../src/testing/store-contract/random.ts";
import { startRelay } from "./cutting-relay.ts";
import type { Cut, CuttingRelay } from "./cutting-relay.ts";
import { startGates } from "./gate.ts";
import { rawFrames, recorded } from "./raw-frames.ts";
import { startServer } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";
import { attachTo, follow, postRun } from "./sse-client.ts";
import type { Frame } from "./sse-client.ts";
import { PART_ENDS } from "./woven-agent.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const SEED = Number(process.env["HEDDLE_TEST_SEED"] ?? Math.floor(Math.random() * 1e9));
const THREAD = "finished";
const RUN = "run-0000";
/** So many are cut at a time. */
const LANES = 4;

let folder: string;
let server: ServerProcess;
const relays: CuttingRelay[] = [];
/** The uncut stream of the run, while it was under way and now that it is over. */
let live: Buffer;
let uncut: Buffer;

const input = (threadId: string, runId: string, more: object = {}): object => ({
  threadId,
  runId,
  messages: [{ id: "asked", role: "user", content: "Wörk! 🪡" }],
  ...more,
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-cut-"));
  server = await startServer({
    files: ["test/woven-agent.ts"],
    store: `sqlite:${join(folder, "heddle.db")}`,
    // A comment in between would be one more byte to count.
    env: { HEDDLE_KEEP_ALIVE_MS: "600000" },
  });
  for (let lane = 0; lane < LANES; lane++) relays.push(await startRelay(server.url));
  live = await bytesOf(postRun(server.url, "woven", input(THREAD, RUN)));
  uncut = await bytesOf(attachTo(server.url, THREAD, RUN));
});
afterAll(async () => {
  for (const relay of relays) await relay.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const bytesOf = async (answer: Promise<Response>): Promise<Buffer> => Buffer.from(await (await answer).arrayBuffer());

/** What a client made of a run that was cut. */
interface Joined {
  /** The events, as the client gave them. */
  readonly frames: readonly Frame[];
  /** How many it had at each cut. */
  readonly seen: readonly number[];
  /** What its connections brought, up to the event that it attached behind next. */
  readonly bytes: Buffer;
}

/** Reads a run with the client. */
async function joined(
  open: () => Promise<Response>,
  again: (after: string | undefined) => Promise<Response>,
): Promise<Joined> {
  const connections: Uint8Array[][] = [];
  const cursors: (string | undefined)[] = [];
  const seen: number[] = [];
  const frames: Frame[] = [];
  const connected = async (answer: Promise<Response>): Promise<Response> => {
    const pieces: Uint8Array[] = [];
    connections.push(pieces);
    return recorded(await answer, pieces);
  };
  const attached = (after: string | undefined): Promise<Response> => {
    cursors.push(after);
    seen.push(frames.length);
    return connected(again(after));
  };
  for await (const frame of follow(() => connected(open()), attached)) frames.push(frame);
  const pieces = connections.map((received, index) => {
    const bytes = Buffer.concat(received);
    return index < cursors.length ? throughCursor(bytes, cursors[index]) : bytes;
  });
  return { frames, seen, bytes: Buffer.concat(pieces) };
}

/** Bytes up to the end of the frame that has a cursor; none where the frame came over an earlier connection. */
function throughCursor(bytes: Buffer, cursor: string | undefined): Buffer {
  const at = cursor === undefined ? -1 : bytes.indexOf(`id: ${cursor}\n`);
  return bytes.subarray(0, at === -1 ? 0 : bytes.indexOf("\n\n", at) + 2);
}

/** How many frames are whole within so many bytes of the uncut stream. */
const framesWithin = (bytes: number): number => rawFrames([uncut.subarray(0, bytes)]).size;

const eventsIn = (bytes: Buffer): readonly { readonly id: string; readonly event: Event }[] =>
  [...rawFrames([bytes])].map(([id, frame]) => ({ id, event: JSON.parse(frame.slice(frame.indexOf("\ndata: ") + 7)) }));

/** Where the first frame of a type ends in the uncut stream. */
const endOfFrame = (type: Event["type"]): number => uncut.indexOf("\n\n", uncut.indexOf(`{"type":"${type}"`)) + 2;

const attachByQuery = (url: string, after = ""): Promise<Response> =>
  fetch(`${url}/threads/${THREAD}/events?run=${RUN}${after === "" ? "" : `&after=${after}`}`);

const ndjson = (url: string, after?: string): Promise<Response> =>
  fetch(`${url}/threads/${THREAD}/events?run=${RUN}`, {
    headers: { accept: "application/x-ndjson", ...(after !== undefined && { "last-event-id": after }) },
  });

/** The head of an answer as the relays pass it. */
async function headOf(path: string): Promise<string> {
  const { hostname, port } = new URL(relays[0]?.url ?? "");
  const socket = connect(Number(port), hostname).setEncoding("latin1");
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`);
  let answer = "";
  for await (const piece of socket) answer += String(piece);
  return answer.slice(0, answer.indexOf("\r\n\r\n") + 4);
}

async function statusOf(threadId: string, runId: string): Promise<unknown> {
  const run: unknown = await (await fetch(`${server.url}/threads/${threadId}/runs/${runId}`)).json();
  return Object(run).status;
}

/** Does some work for every item, a few at a time, each with a relay to itself. */
async function forEach<T>(items: readonly T[], work: (item: T, relay: CuttingRelay) => Promise<void>): Promise<void> {
  const left = items.values();
  await Promise.all(
    relays.map(async (relay) => {
      for (const item of left) await work(item, relay);
    }),
  );
}

/** Whether a byte stands inside of a character. */
const isInside = (byte = 0): boolean => (byte & 0xc0) === 0x80;

/** Where a reader may be mistaken: around the end of a frame, and inside of a character. */
const isDelicate = (at: number): boolean =>
  isInside(uncut[at]) || uncut.subarray(Math.max(0, at - 2), at + 2).includes("\n\n");

const HOW = ["ended", "reset"] as const;

/** A cut at every byte, in one way or the other, and in both where it matters. */
const everyCut = (length: number): readonly Cut[] =>
  Array.from({ length: length + 1 }, (_, bytes) => bytes).flatMap((bytes) =>
    HOW.flatMap((how, index) => (bytes % 2 === index || isDelicate(bytes) ? [{ part: "body", bytes, how }] : [])),
  );

test("the run has something of everything, and characters that can be cut in two", () => {
  expect(uncut.length).toBeGreaterThan(3000);
  expect(rawFrames([uncut])).toEqual(rawFrames([live]));
  const events = eventsIn(uncut).map(({ event }) => event);
  const state = createVerifyState();
  for (const event of events) verify(state, event);
  verifyEnd(state);
  expect(new Set(events.map(({ type }) => type.replace(/_.*/, "")))).toEqual(
    new Set(["RUN", "REASONING", "STATE", "TOOL", "STEP", "ACTIVITY", "TEXT"]),
  );
  expect(uncut.filter(isInside).length).toBeGreaterThan(30);
  // One event is hidden, so cursors have a hole.
  expect(Number(eventsIn(uncut).at(-1)?.id.slice(-16))).toBe(events.length + 1);
});

test("a run that is over, cut at every byte of its body", async () => {
  const whole = JSON.stringify(eventsIn(uncut));
  await forEach(everyCut(uncut.length), async (cut, relay) => {
    relay.plan([cut]);
    const { cuts } = relay;
    const { frames, seen, bytes } = await joined(
      () => attachTo(relay.url, THREAD, RUN),
      (after) => attachTo(server.url, THREAD, RUN, after),
    );
    expect(relay.cuts).toBe(cuts + 1);
    // Never an event of a frame that is not whole, and none missing of those that are.
    expect(seen).toEqual(cut.bytes < uncut.length ? [framesWithin(cut.bytes)] : []);
    expect(JSON.stringify(frames)).toBe(whole);
    expect(bytes.equals(uncut)).toBe(true);
  });
}, 240_000);

test("a run that is over, cut at every byte of the head of its answer", async () => {
  const head = await headOf(`/threads/${THREAD}/events?run=${RUN}`);
  expect(head).toMatch(/^HTTP\/1.1 200 OK\r\n.*content-type: text\/event-stream/s);
  const cuts = Array.from(head, (_, bytes): Cut => ({ part: "head", bytes, how: HOW[bytes % 2] ?? "reset" }));
  await forEach(cuts, async (cut, relay) => {
    relay.plan([cut]);
    const { seen, bytes } = await joined(
      () => attachTo(relay.url, THREAD, RUN),
      (after) => attachTo(relay.url, THREAD, RUN, after),
    );
    expect(seen).toEqual([0]);
    expect(bytes.equals(uncut)).toBe(true);
  });
});

test(`cut again in the stream that was attached to, which \`after=\` asked for (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  const pairs = Array.from({ length: 200 * SCALE }, (): readonly Cut[] => {
    const first = random.below(uncut.length);
    return [first, random.below(uncut.length - first)].map((bytes) => ({ part: "body", bytes, how: random.one(HOW) }));
  });
  await forEach(pairs, async (cuts, relay) => {
    relay.plan(cuts);
    let by = attachByQuery;
    const { seen, bytes } = await joined(
      () => attachTo(relay.url, THREAD, RUN),
      (after) => {
        const answer = by(relay.url, after);
        by = (url, last) => attachTo(url, THREAD, RUN, last);
        return answer;
      },
    );
    expect(seen).toHaveLength(2);
    expect(bytes.equals(uncut)).toBe(true);
  });
});

test("lines of JSON, cut at every fifth byte", async () => {
  const whole = await bytesOf(ndjson(server.url));
  const lines = whole.toString().trimEnd().split("\n");
  expect(lines.map((line): unknown => JSON.parse(line))).toEqual(
    eventsIn(uncut).map((entry) => ({ ...entry, runId: RUN })),
  );
  const offsets = Array.from({ length: Math.ceil(whole.length / 5) }, (_, index) => index * 5);
  await forEach(offsets, async (bytes, relay) => {
    relay.plan([{ part: "body", bytes, how: "ended" }]);
    const before = (await bytesOf(ndjson(relay.url))).subarray(0, bytes);
    const kept = before.subarray(0, before.lastIndexOf("\n") + 1);
    const last = kept.toString().trimEnd().split("\n").at(-1) ?? "";
    const after: string | undefined = last === "" ? undefined : JSON.parse(last).id;
    const behind = await bytesOf(ndjson(server.url, after));
    expect(Buffer.concat([kept, behind]).equals(whole)).toBe(true);
  });
});

test("a cursor at the last event gets 204, and one before it the last event", async () => {
  const [...cursors] = rawFrames([uncut]).keys();
  const [before, last] = cursors.slice(-2);
  for (const answer of [
    attachTo(server.url, THREAD, RUN, last),
    attachByQuery(server.url, last),
    ndjson(server.url, last),
  ]) {
    expect((await answer).status).toBe(204);
    expect(await (await answer).text()).toBe("");
  }
  const rest = await bytesOf(attachTo(server.url, THREAD, RUN, before));
  expect([...rawFrames([rest]).keys()]).toEqual([last]);
});

test(`runs under way, cut twice while their agents are held (seed ${SEED})`, async () => {
  const gates = await startGates();
  const random = new Random(SEED + 1);
  const ends = PART_ENDS.map((type) => endOfFrame(type));
  const plans = Array.from({ length: Math.ceil(40 * SCALE) }, (_, number) => {
    const part = random.chance(10) ? "head" : "body";
    const bytes = random.below(part === "head" ? 100 : (ends.at(-1) ?? 0));
    const left = part === "head" ? uncut.length : uncut.length - bytes;
    const first: Cut = { part, bytes, how: random.one(HOW) };
    const second: Cut = { part: "body", bytes: random.below(left), how: random.one(HOW) };
    return { number, first, second };
  });
  await forEach(plans, async ({ number, first, second }, relay) => {
    const [threadId, runId] = [`live-${String(number).padStart(3, "0")}`, `run-${String(number).padStart(4, "0")}`];
    // The agent is held behind the part that the cut is in.
    const part = first.part === "head" ? 0 : ends.findIndex((end) => first.bytes <= end);
    const gate = (name: string | number): string => `${runId}-${name}`;
    for (const name of ["start", 1, 2, 3].slice(0, part + 1)) gates.open(gate(name));
    relay.plan([first, second]);
    const states: unknown[] = [];
    const { frames, bytes } = await joined(
      () => postRun(relay.url, "woven", input(threadId, runId, { forwardedProps: { gates: gates.url } })),
      async (after) => {
        states.push(await statusOf(threadId, runId));
        const answer = await attachTo(relay.url, threadId, runId, after);
        for (const name of [1, 2, 3]) gates.open(gate(name));
        return answer;
      },
    );
    expect(states).toHaveLength(2);
    expect(states[0]).toBe("running");
    const logged = await bytesOf(attachTo(server.url, threadId, runId));
    expect(frames).toEqual(eventsIn(logged));
    expect([...rawFrames([bytes])]).toEqual([...rawFrames([logged])]);
    expect(frames).toHaveLength(eventsIn(uncut).length);
    // Once, whatever was cut.
    expect(gates.visits(gate("start"))).toBe(1);
  });
});

test("the thread holds one run and nothing else", async () => {
  const whole = await bytesOf(fetch(`${server.url}/threads/${THREAD}/events?all=true&follow=false`));
  expect(eventsIn(whole).filter(({ event }) => event.type === "RUN_STARTED")).toHaveLength(1);
  expect([...rawFrames([whole]).keys()]).toEqual([...rawFrames([uncut]).keys()]);
});
