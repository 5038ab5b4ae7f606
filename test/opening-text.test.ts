/**
 * A thread of a SQLite file is opened with the text that the file keeps, where nothing of it is hidden from who opens it.
 * What it says is what the events say that it stands for, whoever asks, and whatever they hold.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Event, Message } from "../src/protocol/index.ts";
import { decodeSse, parseEvent } from "../src/protocol/index.ts";
import { SSE } from "../src/server/index.ts";
import type { ConnectOptions, Heddle } from "../src/server/index.ts";
import { keptText } from "../src/store/index.ts";
import type { Store } from "../src/store/index.ts";
import { sqliteStore } from "../src/store/sqlite/index.ts";
import { agentOf, bodyOf, runToEnd, served } from "./served.ts";

/** Messages of more than one part, with all that text may hold. */
const messagesOf = (extra: readonly Message[]): readonly Message[] => [
  ...Array.from({ length: 70 }, (_, index): Message => {
    const content = `${index}: "line"\n\\ — „so“ \u2028 😀 ${index === 40 ? "\ud800" : ""} ],[{`;
    return { id: `m-${index} "—`, role: index % 2 === 0 ? "user" : "assistant", content };
  }),
  ...extra,
];
const PLAIN = messagesOf([]);
const HIDING = messagesOf([{ id: "s", role: "system", content: "the secret" }]);
const IDS = PLAIN.map(({ id }) => id);
const RUN = { tenant: "default", threadId: "t1", runId: "r1" };

let folder = "";
let plain: Heddle & { store: Store };
let hiding: typeof plain;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-opening-"));
  [plain, hiding] = await Promise.all([resting("plain", PLAIN), resting("hiding", HIDING)]);
});
afterAll(async () => {
  await Promise.all([plain.close(), hiding.close()]);
  await rm(folder, { recursive: true, force: true });
});

/** A thread that rests, in a file. */
async function resting(name: string, messages: readonly Message[]): Promise<typeof plain> {
  const inner = sqliteStore(join(folder, `${name}.db`));
  const settled = Promise.withResolvers<void>();
  const store: Store = {
    ...inner,
    async settle(...asked) {
      await inner.settle(...asked);
      settled.resolve();
    },
  };
  const heddle = served(
    agentOf(async ({ emit }) => void (await emit.text({ id: "answer" }).write("done"))),
    { store },
  );
  await runToEnd(heddle, bodyOf("r1", { messages }));
  await settled.promise;
  return heddle;
}

/** What somebody may hold, and whether they have to be made to forget it first. */
const HELD: readonly (readonly [string, readonly string[], boolean])[] = [
  ["nothing", [], false],
  ["the beginning", IDS.slice(0, 3), false],
  ["more than a part of it", IDS.slice(0, 40), false],
  ["everything", [...IDS, "answer"], false],
  ["the beginning and something else", [...IDS.slice(0, 2), "unknown"], false],
  ["another order", [IDS[3] ?? "", IDS[1] ?? ""], true],
  ["the end", IDS.slice(60), true],
  ["one twice", [IDS[0] ?? "", IDS[0] ?? ""], true],
];

const bodyWith = (held: readonly string[]): object => ({
  threadId: "t1",
  protocolVersion: "1.0",
  messages: held.map((id) => ({ id, role: "user", content: "" })),
});

async function asEvents(heddle: Heddle, held: readonly string[], options: ConnectOptions): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const { event } of (await heddle.connect("test", bodyWith(held), options)).events) events.push(event);
  return events;
}

async function onTheWire(heddle: Heddle, held: readonly string[], options: ConnectOptions): Promise<readonly Event[]> {
  const events: Event[] = [];
  const { frames } = await heddle.connect("test", bodyWith(held), options);
  for await (const { value } of decodeSse(frames(SSE))) {
    const { value: event } = parseEvent(value);
    if (event !== undefined) events.push(event);
  }
  return events;
}

const snapshotsIn = (events: readonly Event[]): readonly (readonly Message[])[] =>
  events.flatMap((event) => (event.type === "MESSAGES_SNAPSHOT" ? [event.messages] : []));

describe.each(HELD)("who holds %s", (_, held, isForgotten) => {
  test.each([{}, { raw: true }] satisfies ConnectOptions[])("gets as text what the events say: %o", async (options) => {
    expect(await onTheWire(plain, held, options)).toEqual(await asEvents(plain, held, options));
    expect(await onTheWire(hiding, held, options)).toEqual(await asEvents(hiding, held, options));
  });

  test("gets what was said, in order", async () => {
    const told = snapshotsIn(await onTheWire(plain, held, {}));
    expect(told.at(-1)?.slice(0, -1)).toEqual(JSON.parse(JSON.stringify(PLAIN)));
    expect(told.at(-1)?.at(-1)).toMatchObject({ id: "answer", content: "done" });
    expect(told.length).toBe(isForgotten ? 2 : 1);
  });

  test("gets no instruction without asking for it", async () => {
    expect(JSON.stringify(await onTheWire(hiding, held, {}))).not.toContain("the secret");
    expect(JSON.stringify(await onTheWire(hiding, held, { raw: true }))).toContain("the secret");
  });
});

test("the file keeps the messages as text", async () => {
  const snapshot = await plain.store.snapshot(RUN);
  expect(snapshot && keptText(snapshot)).toContainEqual(expect.objectContaining({ messages: expect.anything() }));
});
