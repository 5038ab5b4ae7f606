/**
 * Our judgement and fold of streams against `@ag-ui/client` 1.0.0, on generated streams, valid and sloppy.
 *
 * The same means: the same events accepted, expanded to the same events (timestamps aside), rejection at the same event,
 * and the same messages and state of what was accepted. Where the two part, entries of `differential-stream-differences.ts`
 * have to account for it: with what each entry describes taken out of the stream, nothing may be left that differs.
 */
import { isDeepStrictEqual } from "node:util";
import { defaultApplyEvents, transformChunks, verifyEvents } from "@ag-ui/client";
import fc from "fast-check";
import { Subject, from, lastValueFrom, scan } from "rxjs";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { Event } from "../src/protocol/index.ts";
import { HeddleError } from "../src/protocol/index.ts";
import {
  applyPatch,
  createExpandState,
  createVerifyState,
  expand,
  reduceAll,
  verify,
  verifyEnd,
} from "../src/stream/index.ts";
import { arbitrarySoup, arbitraryStream } from "./arbitrary-stream.ts";
import { DIFFERENCES } from "./differential-stream-differences.ts";
import type { Difference } from "./differential-stream-differences.ts";

const SCALE = Number(process.env.HEDDLE_TEST_SCALE ?? 1);
const STREAMS = Math.round(10_000 * SCALE);

type Peer = Parameters<typeof defaultApplyEvents>;
type PeerEvents = Parameters<ReturnType<typeof verifyEvents>>[0];

/** What became of a stream: the expanded events that were accepted, and the index of the event that was not. */
interface Verdict {
  readonly accepted: readonly Event[];
  /** Index of the rejected event; the stream's length where it may not end; undefined where all is well. */
  readonly rejectedAt: number | undefined;
}

interface Folded {
  readonly messages: unknown;
  readonly state: unknown;
  readonly interrupts: unknown;
}

function judgeOurs(events: readonly Event[]): Verdict {
  const lanes = createExpandState();
  const state = createVerifyState();
  const accepted: Event[] = [];
  let index = 0;
  try {
    for (; index < events.length; index++) {
      for (const event of expand(lanes, events[index] as Event)) {
        verify(state, event);
        accepted.push(event);
      }
    }
    verifyEnd(state);
    return { accepted, rejectedAt: undefined };
  } catch (error) {
    if (error instanceof HeddleError && error.code === "sequence-violation") return { accepted, rejectedAt: index };
    throw error;
  }
}

function judgeTheirs(events: readonly Event[]): Verdict {
  const source = new Subject<unknown>();
  const accepted: Event[] = [];
  let rejected = false;
  const verified = verifyEvents()(transformChunks()(source as unknown as PeerEvents));
  verified.subscribe({ next: (event) => accepted.push(event as unknown as Event), error: () => (rejected = true) });
  for (const [index, event] of events.entries()) {
    source.next(event);
    if (rejected) return { accepted, rejectedAt: index };
  }
  return { accepted, rejectedAt: undefined };
}

/** The state that a stream starts from: what the first input says, until an event says otherwise. */
function baseline(events: readonly Event[]): unknown {
  const first = events.find(
    (event) =>
      event.type === "STATE_SNAPSHOT" ||
      (event.type === "STATE_DELTA" && event.delta.length > 0 && applyPatch({}, event.delta).ok) ||
      (event.type === "RUN_STARTED" && event.input?.state !== undefined),
  );
  return first?.type === "RUN_STARTED" ? first.input?.state : {};
}

function foldOurs(events: readonly Event[]): Folded {
  const { messages, state, interrupts } = reduceAll(events);
  return { messages, state, interrupts };
}

async function foldTheirs(events: readonly Event[]): Promise<Folded> {
  const input = { threadId: "thread", runId: "run1", messages: [], state: baseline(events), tools: [], context: [] };
  const agent = { messages: [], pendingInterrupts: [] } as unknown as Peer[2];
  // The peer keeps and changes what it is given: each event has to be its own, as off a wire.
  const cloned = from(events.map((event) => structuredClone(event))) as unknown as Peer[1];
  const changes = defaultApplyEvents(structuredClone(input) as Peer[0], cloned, agent, []);
  const start = { messages: [] as unknown, state: input.state };
  const folded = changes.pipe(scan((held, change) => ({ ...held, ...change }), start));
  const last = await lastValueFrom(folded, { defaultValue: start });
  return { ...last, interrupts: agent.pendingInterrupts };
}

/** How the two part on a stream, or undefined where they do not. */
function partsInVerdict(events: readonly Event[]): string | undefined {
  const ours = judgeOurs(events);
  const theirs = judgeTheirs(events);
  if (ours.rejectedAt !== theirs.rejectedAt)
    return `rejected at ${ours.rejectedAt}, by the peer at ${theirs.rejectedAt}`;
  return isDeepStrictEqual(ours.accepted, theirs.accepted) ? undefined : "expanded otherwise";
}

async function partsInFold(events: readonly Event[]): Promise<string | undefined> {
  const ours = foldOurs(events);
  const theirs = await foldTheirs(events);
  const part = (["messages", "state", "interrupts"] as const).find((key) => !isDeepStrictEqual(ours[key], theirs[key]));
  return part && `${part}: ${JSON.stringify(ours[part])}, by the peer ${JSON.stringify(theirs[part])}`;
}

const parts = async (stage: Difference["stage"], events: readonly Event[]): Promise<string | undefined> =>
  stage === "verdict" ? partsInVerdict(events) : partsInFold(events);

/** The stream with what some differences describe taken out. */
const without = (events: readonly Event[], differences: readonly Difference[]): readonly Event[] =>
  differences.reduce((left, difference) => difference.without(left), events);

/** Says what nothing explains at one stage, and notes which differences explained something. */
async function complaint(
  stage: Difference["stage"],
  events: readonly Event[],
  explained: Map<string, number>,
): Promise<string | undefined> {
  const found = await parts(stage, events);
  const applying = DIFFERENCES.filter((difference) => difference.stage === stage && difference.applies(events));
  if (found === undefined || applying.length === 0) return found;
  for (const each of applying) {
    const others = applying.filter((other) => other !== each);
    if (others.length > 0 && (await parts(stage, without(events, others))) === undefined) continue;
    explained.set(each.id, (explained.get(each.id) ?? 0) + 1);
  }
  return parts(stage, without(events, applying));
}

const streams = fc.oneof(
  arbitraryStream({ chunks: false }),
  arbitraryStream({ chunks: true }),
  arbitrarySoup({ chunks: false }),
  arbitrarySoup({ chunks: true }),
);

beforeAll(() => {
  // The peer warns of everything it skips.
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

describe("streams are judged and folded as @ag-ui/client judges and folds them", () => {
  const explained = new Map<string, number>();
  const seen = { accepted: 0, rejected: 0 };

  it("agrees on 10,000 generated streams, apart from the listed differences", { timeout: 600_000 }, async () => {
    const property = fc.asyncProperty(streams, async (events) => {
      const { accepted, rejectedAt } = judgeOurs(events);
      seen[rejectedAt === undefined ? "accepted" : "rejected"]++;
      const found = (await complaint("verdict", events, explained)) ?? (await complaint("fold", accepted, explained));
      if (found !== undefined) throw new Error(found);
    });
    const run = await fc.check(property, { numRuns: STREAMS });
    expect(run.failed ? `${fc.defaultReportMessage(run)}\n${String(run.errorInstance)}` : "").toBe("");
  });

  it("generated both kinds: at least a fifth accepted, and a fifth rejected", () => {
    const { accepted, rejected } = seen;
    expect(Math.min(accepted, rejected)).toBeGreaterThan((accepted + rejected) / 5);
  });

  it("met every listed difference in that run", () => {
    expect(DIFFERENCES.map(({ id }) => id).filter((id) => !explained.has(id))).toEqual([]);
  });
});

describe("the list of differences", () => {
  it("names each difference once", () => {
    expect(new Set(DIFFERENCES.map(({ id }) => id)).size).toBe(DIFFERENCES.length);
  });

  it.each(DIFFERENCES.map((difference) => [difference.id, difference] as const))(
    "%s has a rule, a reason, and a case that it alone explains",
    async (_, difference) => {
      const { stage, case: events } = difference;
      expect(difference.rule).toMatch(/^(R-[A-Z]+-\d+|A\d+)$/);
      expect(difference.why).not.toBe("");
      expect(await parts(stage, events)).not.toBeUndefined();
      expect(DIFFERENCES.filter((each) => each.stage === stage && each.applies(events))).toEqual([difference]);
      expect(await complaint(stage, events, new Map())).toBeUndefined();
    },
  );
});
