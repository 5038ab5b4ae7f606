/**
 * AG-UI's conformance fixtures: one stream each, and what any conforming consumer must make of it.
 *
 * Wording is an implementation's own: a failure is compared by whether there is one, a warning by the path or the event
 * type that it has to name. A fixture for an older peer also says what the client sends it.
 */
import { PROTOCOL_VERSION, parseRunInput } from "../protocol/index.ts";
import { normaliseRunInput, projectRunInput } from "../protocol/dialects/index.ts";
import { readStream } from "./read-stream.ts";
import type { StreamReading } from "./read-stream.ts";

/** A JSON object whose members are not known. */
type Json = Readonly<Record<string, unknown>>;

/** One fixture, as it stands in its file. */
export interface Fixture {
  /** Raw events, as a producer sent them. */
  readonly stream: readonly unknown[];
  /** What the run starts from. */
  readonly input?: Json;
  /** What is known of the peer. */
  readonly client?: { readonly maxProtocolVersion?: string };
  /** What a consumer must make of it. */
  readonly expect: Json;
}

/** Options of `judgeFixture`. */
export interface ConformanceOptions {
  /** Version that we declare. Default: our own. */
  readonly version?: string;
}

/** Runs one fixture; returns what is different from what it expects, one line each. */
export function judgeFixture(
  fixture: Fixture,
  { version = PROTOCOL_VERSION }: ConformanceOptions = {},
): readonly string[] {
  const { input = {}, client = {}, expect } = fixture;
  const request = requestFor(input, client.maxProtocolVersion, version);
  const { warnings: inbound, stream } = fromPeer(fixture.stream, client.maxProtocolVersion);
  const held = parseRunInput(normaliseRunInput(inputOf(input, version)).value).value;
  const reading = readStream(stream, {
    version,
    initial: { messages: held.messages, ...(held.state === undefined ? {} : { state: held.state }) },
  });
  const warnings = [...request.warnings, ...inbound, ...reading.warnings];
  return [
    ...judgeOutcome(reading, expect),
    ...judgeEvents(reading.events, expect),
    ...judgeWarnings(warnings, expect),
    ...judgeHeld(reading, expect),
    ...judgeRequest(request.value, expect),
  ];
}

/** An input with the fields that every input has. */
const inputOf = (input: Json, version: string): Json => ({
  threadId: "thread",
  runId: "run",
  messages: [],
  protocolVersion: version,
  ...input,
});

function requestFor(input: Json, peer: string | undefined, version: string) {
  const { value } = parseRunInput(normaliseRunInput(inputOf(input, version)).value);
  const projected = projectRunInput(value, { version: peer });
  return { value: projected.value, warnings: projected.warnings.map(({ path, message }) => `${path} ${message}`) };
}

/** A peer from before subagents cannot mean them: what claims to be one is left out (R-VER-03). */
function fromPeer(stream: readonly unknown[], peer: string | undefined) {
  const warnings: string[] = [];
  if (peer === undefined || !/^0\.0\.([0-4]?\d|5[0-8])$/.test(peer)) return { stream, warnings };
  const kept = stream.flatMap((event) => {
    if (!isObject(event)) return [event];
    if (typeof event.type === "string" && event.type.startsWith("SUBAGENT_")) {
      warnings.push(`Left out ${event.type}: the peer predates subagents.`);
      return [];
    }
    const { subagentRunId: _subagentRunId, ...rest } = event;
    return [rest];
  });
  return { stream: kept, warnings };
}

function judgeOutcome({ rejection, runErrors }: StreamReading, { outcome, runError }: Json): readonly string[] {
  const actual = rejection === undefined ? "completed" : "failed";
  const problems: string[] = [];
  if (outcome !== undefined && outcome !== actual) {
    const why = rejection === undefined ? "" : ` (${rejection.code}: ${rejection.message})`;
    problems.push(`outcome: expected ${show(outcome)}, got ${actual}${why}`);
  }
  if (runError === undefined) return problems;
  const reported = runErrors.some((message) => runError === true || message.includes(String(runError)));
  return reported ? problems : [...problems, `runError: expected ${show(runError)}, got ${show(runErrors)}`];
}

function judgeEvents(events: readonly object[], expect: Json): readonly string[] {
  const problems: string[] = [];
  const types = events.map((event) => ("type" in event ? event.type : undefined));
  const { eventTypes, eventTypesAbsent, eventPaths, eventAbsentPaths } = expect;
  if (eventTypes !== undefined && show(eventTypes) !== show(types)) {
    problems.push(`eventTypes: expected ${show(eventTypes)}, got ${show(types)}`);
  }
  for (const type of listOf(eventTypesAbsent)) {
    if (types.includes(type)) problems.push(`eventTypesAbsent: ${show(type)} was handed over`);
  }
  for (const [path, value] of Object.entries(isObject(eventPaths) ? eventPaths : {})) {
    const found = at(events, path);
    if (!found.exists || !matches(found.value, value)) {
      problems.push(`eventPaths ${path}: expected ${show(value)}, got ${show(found.value)}`);
    }
  }
  for (const path of listOf(eventAbsentPaths)) {
    if (at(events, String(path)).exists) problems.push(`eventAbsentPaths: ${show(path)} exists`);
  }
  return problems;
}

function judgeWarnings(warnings: readonly string[], expect: Json): readonly string[] {
  const missing = listOf(expect.warnings).filter((wanted) => !warnings.some((text) => names(text, String(wanted))));
  const problems = missing.map((wanted) => `warnings: none names ${show(wanted)} in ${show(warnings)}`);
  if (expect.noWarnings === true && warnings.length > 0) problems.push(`noWarnings: got ${show(warnings)}`);
  return problems;
}

/** Phrases of the reference client, and what our own warnings say instead. */
const PHRASES: Readonly<Record<string, RegExp>> = {
  "cannot interpret": /cannot be read/,
  "Failed to apply state patch": /STATE_DELTA was skipped/,
  "Failed to apply activity patch": /ACTIVITY_DELTA was skipped/,
};

const names = (text: string, wanted: string): boolean => text.includes(wanted) || PHRASES[wanted]?.test(text) === true;

function judgeHeld({ view }: StreamReading, expect: Json): readonly string[] {
  const problems: string[] = [];
  const { messageCount, messages } = expect;
  if (messageCount !== undefined && messageCount !== view.messages.length) {
    problems.push(`messageCount: expected ${show(messageCount)}, got ${view.messages.length}`);
  }
  if (messages !== undefined && !matches(view.messages, messages)) {
    problems.push(`messages: expected ${show(messages)}, got ${show(view.messages)}`);
  }
  if ("state" in expect && !matches(view.state, expect.state)) {
    problems.push(`state: expected ${show(expect.state)}, got ${show(view.state)}`);
  }
  return problems;
}

function judgeRequest(request: Json, { request: wanted, requestAbsentPaths }: Json): readonly string[] {
  const problems = listOf(requestAbsentPaths)
    .filter((path) => at(request, String(path)).exists)
    .map((path) => `requestAbsentPaths: ${show(path)} exists`);
  if (wanted === undefined || matches(request, wanted)) return problems;
  return [...problems, `request: expected ${show(wanted)}, got ${show(request)}`];
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const show = (value: unknown): string => JSON.stringify(value) ?? "nothing";

/** Objects match on the keys that are named; everything else in full. */
function matches(actual: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(actual) &&
      actual.length === wanted.length &&
      wanted.every((item, index) => matches(actual[index], item))
    );
  }
  if (!isObject(wanted)) return Object.is(actual, wanted);
  return (
    isObject(actual) && Object.entries(wanted).every(([key, value]) => key in actual && matches(actual[key], value))
  );
}

/** What stands at a dotted path, and whether anything does. */
function at(value: unknown, path: string): { readonly exists: boolean; readonly value?: unknown } {
  let found = value;
  for (const key of path.split(".")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return { exists: false };
    found = Reflect.get(found, key);
  }
  return { exists: true, value: found };
}
