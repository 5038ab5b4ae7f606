/**
 * A fuzzed author: calls of `emit` in any order, on anything that it ever held, with wrong values, nested work,
 * foreign events, throws and stops anywhere. Whatever it does, its stream verifies, its deltas apply, and the stock
 * client takes it.
 */
import { AbstractAgent } from "@ag-ui/client";
import type { BaseEvent } from "@ag-ui/core";
import fc from "fast-check";
import { Observable, from } from "rxjs";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { arbitrarySoup } from "../../test/arbitrary-stream.ts";
import { EventType, HeddleError, parseEvent } from "../protocol/index.ts";
import type { Event, RunAgentInput } from "../protocol/index.ts";
import { createReduceState, createVerifyState, reduce, verify, verifyEnd } from "../stream/index.ts";
import { defineAgent, runAgent } from "./index.ts";
import type {
  ActivityWriter,
  Agent,
  Emit,
  ReasoningWriter,
  StepWriter,
  Subagent,
  TextWriter,
  ToolCallWriter,
} from "./index.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const CASES = Math.ceil(5000 * SCALE);
const PEER_CASES = Math.ceil(300 * SCALE);

/** One thing that the author does: which kind, on which of what it holds, with which value. */
interface Act {
  readonly kind: keyof typeof ACTS;
  readonly at: number;
  readonly by: number;
}

/** What the author holds. */
interface Hands {
  readonly emits: Emit[];
  readonly texts: TextWriter[];
  readonly thoughts: ReasoningWriter[];
  readonly calls: ToolCallWriter[];
  readonly steps: StepWriter[];
  readonly activities: ActivityWriter[];
  readonly subagents: Subagent[];
  readonly foreign: readonly Event[];
  readonly stop: AbortController;
  /** What is done next, by whoever comes to it first. */
  readonly rest: Act[];
}

/** Some of them are ids of the foreign events too. */
const IDS = [undefined, undefined, "m1", "m2", "c1", "a1", "s1", "b"] as const;
const idOf = (by: number): { readonly id?: string } => {
  const id = pick(IDS, by);
  return id === undefined ? {} : { id };
};
const pick = <T>(list: readonly T[], index: number): T | undefined => list[index % Math.max(list.length, 1)];
const macrotask = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Values of the wrong type, as an author without types would hand them over. */
const wrong = (by: number): never => pick<unknown>([7, null, {}, Symbol("no"), NaN, () => {}], by) as never;

const ACTS = {
  text: (hands: Hands, emit: Emit, by: number) =>
    void hands.texts.push(emit.text({ ...idOf(by), ...(by % 7 === 0 ? { role: "user" as const, name: "n" } : {}) })),
  write: ({ texts }: Hands, _: Emit, by: number) => pick(texts, by)?.write(by % 5 === 0 ? "" : `w${by}`),
  endText: ({ texts }: Hands, _: Emit, by: number) => pick(texts, by)?.end(),
  reason: (hands: Hands, emit: Emit, by: number) => void hands.thoughts.push(emit.reasoning(idOf(by))),
  think: ({ thoughts }: Hands, _: Emit, by: number) => pick(thoughts, by)?.write(`r${by}`),
  seal: ({ thoughts }: Hands, _: Emit, by: number) => pick(thoughts, by)?.encrypted(`e${by}`),
  endReason: ({ thoughts }: Hands, _: Emit, by: number) => pick(thoughts, by)?.end(),
  call: (hands: Hands, emit: Emit, by: number) => {
    const parentMessageId = by % 3 === 0 ? pick(hands.texts, by)?.id : undefined;
    hands.calls.push(
      emit.toolCall("tool", { ...idOf(by), ...(parentMessageId === undefined ? {} : { parentMessageId }) }),
    );
  },
  args: ({ calls }: Hands, _: Emit, by: number) => pick(calls, by)?.args(`{${by}`),
  sealCall: ({ calls }: Hands, _: Emit, by: number) => pick(calls, by)?.encrypted("v"),
  endCall: ({ calls }: Hands, _: Emit, by: number) => pick(calls, by)?.end(),
  result: ({ calls }: Hands, emit: Emit, by: number) =>
    emit.toolResult(pick(calls, by)?.id ?? "c1", by % 2 === 0 ? "ok" : [{ type: "text", text: "part" }], {
      ...idOf(by),
      ...(by % 3 === 0 ? { error: "no" } : {}),
    }),
  step: (hands: Hands, emit: Emit, by: number) => void hands.steps.push(emit.step(`s${by % 3}`)),
  endStep: ({ steps }: Hands, _: Emit, by: number) => pick(steps, by)?.end(),
  within: (hands: Hands, emit: Emit, by: number) => emit.step(`w${by % 3}`, () => perform(hands, by % 4)),
  activity: (hands: Hands, emit: Emit, by: number) =>
    void hands.activities.push(emit.activity(`k${by % 2}`, { n: by, list: [1] }, idOf(by))),
  setActivity: ({ activities }: Hands, _: Emit, by: number) => pick(activities, by)?.set({ n: by }),
  patchActivity: ({ activities }: Hands, _: Emit, by: number) =>
    pick(activities, by)?.patch([{ op: by % 2 === 0 ? "add" : "replace", path: `/${"nmx"[by % 3]}`, value: by }]),
  editActivity: ({ activities }: Hands, _: Emit, by: number) =>
    pick(activities, by)?.update((draft) => (by % 5 === 0 ? wrong(by) : { ...draft, by })),
  setState: (_: Hands, emit: Emit, by: number) =>
    emit.state.set(pick<unknown>([{}, { a: 1, list: [] }, null, 3, [1, 2], "s", { ["__proto__"]: 1 }], by)),
  patchState: (_: Hands, emit: Emit, by: number) =>
    emit.state.patch([
      { op: by % 2 === 0 ? "add" : "remove", path: ["/a", "/list/0", "", "/x/y"][by % 4] ?? "", value: by },
    ]),
  editState: (_: Hands, emit: Emit, by: number) =>
    emit.state.update((draft) => {
      if (typeof draft !== "object" || draft === null) return { fresh: by };
      Reflect.set(draft, `k${by % 4}`, by % 6 === 0 ? undefined : { deep: [by] });
      return undefined;
    }),
  messages: ({ texts }: Hands, emit: Emit, by: number) =>
    emit.messages([
      { id: pick(texts, by)?.id ?? "m1", role: "assistant", content: "restated" },
      { id: "u", role: "user", content: "hi" },
    ]),
  custom: (_: Hands, emit: Emit, by: number) => emit.custom("test.x", by % 2 === 0 ? null : { by }),
  raw: (_: Hands, emit: Emit, by: number) => emit.raw({ by }, "src"),
  usage: (_: Hands, emit: Emit, by: number) => emit.usage({ model: `m${by % 2}`, inputTokens: by, outputTokens: 1 }),
  subagent: (hands: Hands, emit: Emit, by: number) => {
    const subagent = emit.subagent("sub", idOf(by));
    hands.subagents.push(subagent);
    hands.emits.push(subagent.emit);
  },
  endSubagent: ({ subagents }: Hands, _: Emit, by: number) =>
    pick(subagents, by)?.end(by % 2 === 0 ? { by } : undefined),
  failSubagent: ({ subagents }: Hands, _: Emit, by: number) => pick(subagents, by)?.fail(new Error("sub failed")),
  ask: (_: Hands, emit: Emit, by: number) => void emit.interrupt({ ...idOf(by), reason: "why", message: "?" }),
  askAndWait: (_: Hands, emit: Emit, by: number) =>
    by % 4 === 0 ? emit.interrupt({ ...idOf(by), reason: "why" }) : undefined,
  forward: ({ foreign }: Hands, emit: Emit, by: number) => {
    const event = pick(foreign, by);
    return event === undefined ? undefined : emit.forward(event);
  },
  wrongWrite: ({ texts }: Hands, _: Emit, by: number) => pick(texts, by)?.write(wrong(by)),
  wrongArgs: ({ calls }: Hands, _: Emit, by: number) => pick(calls, by)?.args(wrong(by)),
  wrongThings: (_: Hands, emit: Emit, by: number) =>
    [
      () => emit.custom(wrong(by), 1),
      () => emit.custom("test.y", wrong(3)),
      () => emit.toolCall(wrong(by)),
      () => emit.step(wrong(by)),
      () => emit.activity("k", wrong(by)),
      () => emit.subagent(wrong(by)),
      () => emit.messages(wrong(by)),
      () => emit.usage(wrong(by)),
      () => void emit.interrupt({ reason: wrong(by) }),
      () => emit.forward(wrong(by)),
      () => emit.text({ role: wrong(by) }),
    ][by % 11]?.(),
  tick: () => Promise.resolve(),
  turn: () => macrotask(),
  beside: (hands: Hands, _: Emit, by: number) => {
    perform(hands, by % 5).catch(() => {});
  },
  stop: ({ stop }: Hands, _: Emit, by: number) => (by % 3 === 0 ? stop.abort(new Error("stopped")) : undefined),
  fail: (_: Hands, __: Emit, by: number) => {
    if (by % 3 === 0) throw new Error("author failed");
  },
} as const;

/** Does so many of the next acts. Errors of `emit` are survived two times out of three. */
async function perform(hands: Hands, count: number): Promise<void> {
  for (let done = 0; done < count; done++) {
    const act = hands.rest.shift();
    if (act === undefined) return;
    const emit = pick(hands.emits, act.at);
    if (emit === undefined) return;
    try {
      const outcome: unknown = ACTS[act.kind](hands, emit, act.by);
      if (act.at % 2 === 0) await outcome;
      // Not awaited, and still the author's own: what the work inside a step throws.
      else if (act.kind === "within") Promise.resolve(outcome).catch(() => {});
    } catch (error) {
      if (act.kind === "fail" || (act.at + act.by) % 3 === 0) throw error;
      if (!(error instanceof HeddleError) && error !== hands.stop.signal.reason) throw error;
    }
  }
}

const kinds = Object.keys(ACTS) as (keyof typeof ACTS)[];
const RARE: readonly string[] = ["stop", "fail", "askAndWait", "ask"];
const act = fc.record({
  kind: fc.constantFrom(...kinds, ...kinds.filter((kind) => !RARE.includes(kind))),
  at: fc.nat(9),
  by: fc.nat(63),
});
const authors = fc.record({
  acts: fc.array(act, { maxLength: 40 }),
  foreign: fc.oneof(fc.constant([]), arbitrarySoup({ chunks: true, runs: 2 })),
  yields: fc.boolean(),
});

/** The agent that does all this; as a generator it yields the foreign events in between. */
function agentOf(
  { acts, foreign, yields }: { acts: Act[]; foreign: readonly Event[]; yields: boolean },
  stop: AbortController,
): Agent {
  const handsOf = (emit: Emit): Hands => ({
    emits: [emit],
    texts: [],
    thoughts: [],
    calls: [],
    steps: [],
    activities: [],
    subagents: [],
    foreign,
    stop,
    rest: [...acts],
  });
  if (!yields) return defineAgent({ name: "fuzzed", run: ({ emit }) => perform(handsOf(emit), Infinity) });
  return defineAgent({
    name: "fuzzed",
    async *run({ emit }) {
      const hands = handsOf(emit);
      for (const event of foreign) {
        yield event;
        await perform(hands, 1);
      }
      await perform(hands, Infinity);
    },
  });
}

const input: RunAgentInput = {
  threadId: "thread",
  runId: "run",
  messages: [
    { id: "u", role: "user", content: "hi" },
    { id: "h", role: "assistant", toolCalls: [{ id: "b", type: "function", function: { name: "t", arguments: "" } }] },
  ],
  state: { a: 1, list: [1] },
};

async function eventsOf(author: Parameters<typeof agentOf>[0]): Promise<Event[]> {
  const stop = new AbortController();
  const events: Event[] = [];
  for await (const event of runAgent(agentOf(author, stop), input, { signal: stop.signal, graceMs: 5 }))
    events.push(event);
  return events;
}

const ends = new Map<string, number>();
const types = new Set<string>();

/** Judges a stream as a strict reader does. Throws where anything is wrong with it. */
function judge(events: readonly Event[]): void {
  const verifying = createVerifyState();
  const folding = createReduceState({ messages: input.messages, state: input.state });
  for (const event of events) {
    types.add(event.type);
    const { value, warnings } = parseEvent(JSON.parse(JSON.stringify(event)));
    if (value === undefined || warnings.length > 0) throw new Error(`not exact: ${JSON.stringify(event)}`);
    for (const { rule, message } of verify(verifying, event)) if (rule === "pending-calls") throw new Error(message);
    const skipped = reduce(folding, event);
    if (skipped.length > 0 && event.type === "STATE_DELTA") throw new Error(skipped[0]?.message);
  }
  verifyEnd(verifying);
  const last = events.at(-1);
  const runs = events.filter(({ type }) => type.startsWith("RUN_")).length;
  if (events[0]?.type !== "RUN_STARTED" || runs !== 2) throw new Error("the frame is not exactly one");
  const how = last?.type === "RUN_FINISHED" ? (last.outcome?.type ?? "success") : "failed";
  ends.set(how, (ends.get(how) ?? 0) + 1);
}

test("5,000 fuzzed authors never make a stream that verify rejects", { timeout: 600_000 }, async () => {
  const property = fc.asyncProperty(authors, async (author) => judge(await eventsOf(author)));
  const run = await fc.check(property, { numRuns: CASES });
  expect(run.failed ? `${fc.defaultReportMessage(run)}\n${String(run.errorInstance)}` : "").toBe("");
});

test("those authors ended in every way, and said everything that there is to say", () => {
  for (const how of ["success", "interrupt", "cancelled", "failed"]) expect(ends.get(how)).toBeGreaterThan(CASES / 50);
  const chunks: readonly string[] = ["TEXT_MESSAGE_CHUNK", "TOOL_CALL_CHUNK", "REASONING_MESSAGE_CHUNK"];
  expect(Object.keys(EventType).filter((type) => !types.has(type))).toEqual(
    expect.arrayContaining([...chunks, "META"]),
  );
  expect(types.size).toBe(Object.keys(EventType).length - chunks.length - 1);
});

/** The stock client's agent, fed with a stream. */
class FedAgent extends AbstractAgent {
  readonly events: readonly Event[];
  constructor(events: readonly Event[]) {
    super({ threadId: input.threadId });
    this.events = events;
  }
  run(): Observable<BaseEvent> {
    return from(JSON.parse(JSON.stringify(this.events)) as BaseEvent[]);
  }
}

const warn = vi.spyOn(console, "warn");
beforeAll(() => {
  warn.mockImplementation(() => undefined);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterAll(() => vi.restoreAllMocks());

test("the stock client's whole pipeline takes them", { timeout: 600_000 }, async () => {
  let taken = 0;
  const property = fc.asyncProperty(authors, async (author) => {
    const events = await eventsOf(author);
    const agent = new FedAgent(events);
    const seen: string[] = [];
    await agent.runAgent({ runId: "run" }, { onEvent: ({ event }) => void seen.push(event.type) });
    if (seen.length !== events.filter(({ type }) => type !== "META").length)
      throw new Error(`${seen.length} of ${events.length}`);
    taken++;
  });
  await fc.assert(property, { numRuns: PEER_CASES });
  expect(taken).toBe(PEER_CASES);
});
