/** Openings at every place of generated streams: the rest follows validly and comes to the same, also in the stock client. */
import { isDeepStrictEqual } from "node:util";
import { defaultApplyEvents, transformChunks, verifyEvents } from "@ag-ui/client";
import fc from "fast-check";
import { from, lastValueFrom, scan } from "rxjs";
import { expect, test, vi } from "vitest";
import { arbitrarySoup, arbitraryStream } from "../../test/arbitrary-stream.ts";
import type { Event } from "../protocol/index.ts";
import { createPreludeState, prelude, stepPrelude } from "./prelude.ts";
import { view } from "./reduce.ts";
import { reduceAll } from "./stage.ts";
import { createVerifyState, verify } from "./verify.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);

function verifies(events: readonly Event[]): boolean {
  const state = createVerifyState();
  try {
    for (const event of events) verify(state, event);
    return true;
  } catch {
    return false;
  }
}

/** Whether the rest of the run opens a call again that the run has answered. */
function reopensAnswered(prefix: readonly Event[], rest: readonly Event[]): boolean {
  const answered = new Set<string>();
  for (const event of prefix) {
    if (event.type === "RUN_STARTED") answered.clear();
    if (event.type === "TOOL_CALL_RESULT") answered.add(event.toolCallId);
  }
  const next = rest.findIndex(({ type }) => type === "RUN_STARTED");
  return rest
    .slice(0, next < 0 ? undefined : next)
    .some((event) => event.type === "TOOL_CALL_START" && answered.has(event.toolCallId));
}

/** The fold, without what the contract leaves open where an answered call is opened again. */
const fold = (events: readonly Event[], reopens: boolean): unknown => {
  const whole = reduceAll(events);
  return reopens ? { ...whole, pendingToolCallIds: [] } : whole;
};

/**
 * Whether the rest tags something otherwise than the conversation does: then the conversation, restated by the agent
 * itself, would break the stream as the opening does.
 */
function contradicts(prefix: readonly Event[], rest: readonly Event[]): boolean {
  const { messages, run } = reduceAll(prefix);
  return run.status === "running" && !verifies([...prefix, { type: "MESSAGES_SNAPSHOT", messages }, ...rest]);
}

const streams = fc.oneof(
  arbitraryStream({ runs: 2, moves: 14 }),
  arbitraryStream({ runs: 3, moves: 8 }),
  arbitrarySoup({ chunks: false, runs: 2, moves: 14 }).filter(verifies),
);

/** What parts two values; undefined where nothing does. Cheaper than `toEqual` where they are the same. */
const difference = (actual: unknown, wanted: unknown): unknown =>
  isDeepStrictEqual(actual, wanted) ? undefined : { actual, wanted };

function checkEveryPlace(events: readonly Event[]): void {
  const state = createPreludeState();
  for (let cut = 0; cut <= events.length; cut++) {
    const [prefix, rest] = [events.slice(0, cut), events.slice(cut)];
    const opening = prelude(state);
    expect(difference(reduceAll(opening), view(state.reduce))).toBe(undefined);
    const joined = [...opening, ...rest];
    expect(verifies(joined)).toBe(!contradicts(prefix, rest));
    const reopens = reopensAnswered(prefix, rest);
    expect(difference(fold(joined, reopens), fold(events, reopens))).toBe(undefined);
    expect(difference(prelude(opening), opening)).toBe(undefined);
    for (const event of rest.slice(0, 1)) stepPrelude(state, event);
  }
}

test("at every place, the opening and the rest fold as the whole, and verify unless the rest contradicts it", () => {
  fc.assert(fc.property(streams, checkEveryPlace), { numRuns: Math.ceil(5000 * SCALE) });
});

/** Events of an opening without which every future would come out the same. */
function needlessIn(opening: readonly Event[], prefix: readonly Event[]): readonly Event[] {
  const futures = futuresOf(prefix).map((rest) => ({ rest, wanted: reduceAll([...prefix, ...rest]) }));
  return opening.filter((_, index) => {
    const less = opening.toSpliced(index, 1);
    return futures.every(
      ({ rest, wanted }) => verifies([...less, ...rest]) && isDeepStrictEqual(reduceAll([...less, ...rest]), wanted),
    );
  });
}

test("no event of an opening can be left out", () => {
  const place = fc.tuple(streams, fc.nat());
  const check = fc.property(place, ([events, at]) => {
    const prefix = events.slice(0, at % (events.length + 1));
    const opening = prelude(prefix);
    // Two are told though they might not be missed: messages, all of which could be empty ones that are opened again, and
    // how a run finished that failed after all.
    const kept = (event: Event): boolean =>
      (event.type === "MESSAGES_SNAPSHOT" && event.messages.length > 0) ||
      (event.type === "RUN_FINISHED" && opening.at(-1)?.type === "RUN_ERROR");
    expect(needlessIn(opening, prefix).filter((event) => !kept(event))).toEqual([]);
  });
  fc.assert(check, { numRuns: Math.ceil(5000 * SCALE) });
});

/** How a stream may go on: not at all, in order, or by a failure, and then with another run that brings a state along. */
function futuresOf(prefix: readonly Event[]): readonly (readonly Event[])[] {
  const state = createPreludeState();
  for (const event of prefix) stepPrelude(state, event);
  const { phase, messages, thoughts, spans, calls, subagents } = state.verify;
  const { steps } = view(state.reduce);
  const ids = { threadId: "thread", runId: "next" };
  const next: Event = { type: "RUN_STARTED", ...ids, input: { ...ids, messages: [], state: { brought: true } } };
  if (phase !== "running") return [[], [next]];
  const ends: readonly Event[] = [
    ...[...messages].map((messageId) => ({ type: "TEXT_MESSAGE_END", messageId }) as const),
    ...[...thoughts].map((messageId) => ({ type: "REASONING_MESSAGE_END", messageId }) as const),
    ...[...spans].map((messageId) => ({ type: "REASONING_END", messageId }) as const),
    ...[...calls].map((toolCallId) => ({ type: "TOOL_CALL_END", toolCallId }) as const),
    ...steps.map(({ name, ...owner }) => ({ type: "STEP_FINISHED", stepName: name, ...owner }) as const),
    ...[...subagents].flatMap(([subagentRunId, active]) =>
      active ? [{ type: "SUBAGENT_FINISHED", subagentRunId } as const] : [],
    ),
    { type: "RUN_FINISHED", threadId: "thread", runId: state.verify.runId ?? "" },
  ];
  const failed: Event = { type: "RUN_ERROR", message: "no" };
  return [[], ends, [failed], [failed, next]];
}

type Peer = Parameters<typeof defaultApplyEvents>;
type PeerEvents = Parameters<ReturnType<typeof verifyEvents>>[0];

/** Messages and state in the stock client, which has the state of the first input and nothing else. */
async function inStockClient(events: readonly Event[], initial: unknown): Promise<unknown> {
  const input = { threadId: "thread", runId: "run1", messages: [], state: initial, tools: [], context: [] };
  const agent = { messages: [], pendingInterrupts: [] } as unknown as Peer[2];
  const source = from(events.map((event) => structuredClone(event))) as unknown as PeerEvents;
  const verified = verifyEvents()(transformChunks()(source));
  const start = { messages: [] as unknown, state: initial };
  const changes = defaultApplyEvents(structuredClone(input) as unknown as Peer[0], verified, agent, []);
  const folded = changes.pipe(scan((held, change) => ({ ...held, ...change }), start));
  const { messages, state } = await lastValueFrom(folded, { defaultValue: start });
  return { messages, state };
}

function essence(events: readonly Event[]): unknown {
  const { messages, state } = reduceAll(events);
  return { messages, state };
}

test("the stock client comes to the same from the opening and the rest", { timeout: 120_000 }, async () => {
  // It warns of everything it skips.
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const wanted = Math.ceil(300 * SCALE);
  let compared = 0;
  for (let seed = 1; compared < wanted && seed < 10 * wanted; seed++) {
    const [events = []] = fc.sample(arbitraryStream({ runs: 2, moves: 16 }), { numRuns: 1, seed });
    const cut = seed % (events.length + 1);
    const [prefix, rest] = [events.slice(0, cut), events.slice(cut)];
    const first = events.find((event) => event.type === "RUN_STARTED");
    const initial = first?.input?.state ?? {};
    const uncut = await inStockClient(events, initial);
    // Where it folds otherwise than we do, before the cut or behind it, there is nothing to compare.
    const agrees =
      isDeepStrictEqual(uncut, essence(events)) &&
      (cut === 0 || isDeepStrictEqual(await inStockClient(prefix, initial), essence(prefix)));
    if (!agrees || contradicts(prefix, rest)) continue;
    const joined = await inStockClient([...prelude(prefix), ...rest], cut === 0 ? initial : {});
    expect(joined).toEqual(uncut);
    compared++;
  }
  warn.mockRestore();
  expect(compared).toBe(wanted);
});
