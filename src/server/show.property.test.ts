/**
 * Restricted views of generated streams with secrets everywhere: whatever a viewer folds, from the beginning or from a
 * prelude at any event, is the fold of the whole without what is hidden; and no frame holds a secret.
 */
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { HIDDEN_STATE, SECRET, arbitrarySecretStream, asLogged, withoutSecrets } from "../../test/secret-stream.ts";
import type { Hides } from "../../test/secret-stream.ts";
import { agentOf, checkStream, collect, framesOf, runToEnd, served } from "../../test/served.ts";
import { StreamWriter, commitsOf } from "../../test/stream-writer.ts";
import { decodeSse } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { UNDECLARED_PEER } from "../protocol/dialects/index.ts";
import { memoryStore, readCursor } from "../store/index.ts";
import {
  createPreludeState,
  createReduceState,
  prelude,
  reduce,
  reduceAll,
  stepPrelude,
  view,
} from "../stream/index.ts";
import type { ThreadView } from "../stream/index.ts";
import { attach } from "./attach.ts";
import type { AttachOptions, Attachment } from "./attach.ts";
import { PROTOBUF, SSE } from "./encoding.ts";
import type { Encoding } from "./encoding.ts";
import { Hubs } from "./hubs.ts";
import { showOf, shown, shownValue } from "./show.ts";
import type { Show, ShowOptions } from "./show.ts";
import { threadSnapshot } from "./thread-snapshot.ts";
import { rulesFor, withRules } from "./view-rules.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const KEY = { tenant: "acme", threadId: "thread" };

const hides: fc.Arbitrary<Hides> = fc
  .record({ reasoning: fc.boolean(), state: fc.boolean(), instructions: fc.boolean() })
  .filter(({ reasoning, state }) => reasoning || state);

const optionsOf = ({ reasoning, state, instructions }: Hides): ShowOptions => ({
  meta: true,
  raw: !instructions,
  reasoning: !reasoning,
  hiddenState: state ? HIDDEN_STATE : [],
});

const ALL: Hides = { reasoning: true, state: true, instructions: true };

/** What a prelude leaves open is left out: whether a call that is opened again counts as answered. */
const comparable = (folded: ThreadView): unknown => ({ ...folded, pendingToolCallIds: [] });

/** By its text where that tells it unchanged, as viewers get it. */
function seen(event: Event, show: Show): readonly Event[] {
  const stored = shown({ seq: 1, runId: "r", json: JSON.stringify(event) }, show);
  return stored === undefined ? [] : [JSON.parse(stored.json)];
}

const streams = arbitrarySecretStream({ runs: 2, moves: 14 });

test("what a viewer folds is the whole without what is hidden, at every event", () => {
  const property = fc.property(streams, hides, fc.array(fc.nat(60), { maxLength: 4 }), (events, hidden, cuts) => {
    const show = showOf(optionsOf(hidden));
    const logged = asLogged(events, HIDDEN_STATE);
    const whole = createPreludeState();
    const folded = createReduceState();
    const rests = new Map<number, Event[]>();
    const all: Event[] = [];
    for (const [index, event] of logged.entries()) {
      stepPrelude(whole, event);
      for (const each of seen(event, show)) {
        all.push(each);
        reduce(folded, each);
        for (const rest of rests.values()) rest.push(each);
      }
      const wanted = withoutSecrets(view(whole.reduce), hidden);
      expect(comparable(view(folded))).toEqual(comparable(wanted));
      if (cuts.includes(index)) {
        const opening = prelude(whole).map((each) => shownValue(each, "r", show) as Event | undefined);
        rests.set(
          index,
          opening.filter((each) => each !== undefined),
        );
      }
    }
    checkStream(all);
    const wanted = comparable(withoutSecrets(view(whole.reduce), hidden));
    for (const rest of rests.values()) expect(comparable(reduceAll(rest))).toEqual(wanted);
    const free = isDeepStrictEqual(hidden, ALL) ? [all, ...rests.values()] : [];
    expect(JSON.stringify(free)).not.toContain(SECRET);
  });
  fc.assert(property, { numRuns: Math.ceil(1200 * SCALE) });
});

async function bytesOf(attachment: Attachment, encoding: Encoding): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const bytes of attachment.frames(encoding)) chunks.push(bytes);
  return Buffer.concat(chunks).toString("latin1");
}

/** The seqs that frames carry, and the events in them. */
async function framesIn(text: string, thread: { readonly logId: string; readonly tail: number }) {
  const ids: number[] = [];
  const events: Event[] = [];
  for await (const { id, value } of decodeSse([Buffer.from(text, "latin1").toString()])) {
    if (id !== undefined) ids.push(readCursor(id, { ...thread, floor: 0 }));
    if (value !== undefined) events.push(value as Event);
  }
  return { ids, events };
}

test("joining and coming back at every event of a log gives no secret in any form, and passes every cursor", async () => {
  const begun = streams.filter(([first]) => first?.type === "RUN_STARTED");
  const property = fc.asyncProperty(begun, async (events) => {
    const store = memoryStore();
    const hubs = new Hubs(store, { pollMs: 1000, onTrouble: (error) => expect.fail(String(error)) });
    const writer = new StreamWriter(store, KEY);
    const logged = asLogged(events, HIDDEN_STATE);
    const options: AttachOptions = { ...optionsOf(ALL), follow: false };
    const open = (more: AttachOptions): Promise<Attachment> => attach(store, hubs, KEY, { ...options, ...more });
    const joined: { readonly text: string; readonly seq: number }[] = [];
    for (const commit of commitsOf(logged)) {
      await writer.write(commit);
      const { tail = 0 } = (await store.thread(KEY)) ?? {};
      const text = await bytesOf(await open({ prelude: true }), SSE);
      joined.push({ text, seq: tail });
      for (const peer of [undefined, UNDECLARED_PEER]) {
        expect(await bytesOf(await open({ prelude: true, peer }), PROTOBUF)).not.toContain(SECRET);
      }
      const { reasoning, hiddenState } = options;
      expect(JSON.stringify(await threadSnapshot(store, KEY, { reasoning, hiddenState }))).not.toContain(SECRET);
    }
    const thread = await store.thread(KEY);
    if (thread === undefined) throw new Error("no thread");
    const wanted = comparable(withoutSecrets(reduceAll(logged), ALL));
    for (const { text, seq } of joined) {
      const opening = await framesIn(text, thread);
      expect(opening.ids.at(-1)).toBe(seq);
      const after = `${thread.logId}_${String(seq).padStart(16, "0")}`;
      const later = await bytesOf(await open({ after }), SSE);
      expect(text + later).not.toContain(SECRET);
      const rest = await framesIn(later, thread);
      // Each cursor once, in order, up to the newest: what is hidden is passed.
      expect(rest.ids).toEqual([...new Set(rest.ids)].toSorted((a, b) => a - b));
      expect([seq, ...rest.ids].at(-1)).toBe(thread.tail);
      expect(comparable(reduceAll([...opening.events, ...rest.events]))).toEqual(wanted);
    }
    for (const peer of [undefined, UNDECLARED_PEER]) {
      expect(await bytesOf(await open({ peer }), PROTOBUF)).not.toContain(SECRET);
      expect(await bytesOf(await open({ all: true, peer }), SSE)).not.toContain(SECRET);
    }
  });
  await fc.assert(property, { numRuns: Math.ceil(80 * SCALE) });
});

test("a server that knows its views shows each as much as is for it, at every cursor", async () => {
  const views = { observer: { reasoning: false, hiddenState: HIDDEN_STATE } };
  const rules = withRules({ meta: true }, rulesFor(views, "observer"));
  const one = arbitrarySecretStream({ runs: 1, moves: 14 });
  const property = fc.asyncProperty(one, async (events) => {
    const agent = agentOf(async function* () {
      yield* events as never[];
    });
    const heddle = served(agent, { views });
    await runToEnd(heddle);
    const full: Event[] = [];
    for (const { cursor, event } of await collect(heddle, { runId: "r1", raw: true, meta: true })) {
      full.push(event);
      const { messages, state } = withoutSecrets(reduceAll(full), ALL);
      const snapshot = await heddle.threads.snapshot("t1", { ...rules, at: cursor });
      expect(snapshot).toMatchObject({ messages, state });
      expect(JSON.stringify([...snapshot.messageTimesMs, snapshot])).not.toContain(SECRET);
    }
    const wanted = comparable(withoutSecrets(reduceAll(full), ALL));
    for (const prelude of [false, true]) {
      const options = { ...rules, runId: "r1", prelude };
      const seen = (await collect(heddle, options)).map(({ event }) => event);
      checkStream(seen);
      expect(comparable(reduceAll(seen))).toEqual(wanted);
      for (const form of [SSE, PROTOBUF]) expect(await framesOf(heddle, form, options)).not.toContain(SECRET);
    }
    await heddle.close();
  });
  await fc.assert(property, { numRuns: Math.ceil(100 * SCALE) });
});
