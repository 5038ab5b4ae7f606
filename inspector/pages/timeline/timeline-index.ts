/**
 * What the events of a log belong to, worked out as they are read: each event is looked at once, and costs the depth of its
 * place. Events find their group by the ids that they carry; what carries none stands where its run, subagent or step is.
 */
import type { Event } from "heddle/protocol";
import { kindOf } from "../../log/event-kinds.ts";
import type { Kind } from "../../log/event-kinds.ts";
import type { LogEntry } from "../../log/thread-log.ts";
import { NOTES } from "../../server/api.ts";
import { Group } from "./timeline-group.ts";
import type { GroupKind } from "./timeline-group.ts";
import { settle } from "./settle-group.ts";

/** A silence of so long is marked. */
export const GAP_MS = 1000;

/** The agent itself, or a subagent: who an event is of, with what they have open. */
interface Scope {
  readonly group: Group;
  readonly steps: Group[];
  span: Group | undefined;
  /** What the newest message, call or thought was, for parts that name none. */
  readonly newest: Map<GroupKind, Group>;
}

interface Run {
  readonly group: Group;
  readonly scopes: Map<string, Scope>;
  readonly leaves: Map<string, Group>;
  readonly entries: number[];
  lastScope: Scope;
}

/** What the events of a log belong to. */
export class TimelineIndex {
  /** The events that were read, in the order of the log. */
  readonly entries: readonly LogEntry[];
  /** The runs, in the order of their first event. */
  readonly runs: Group[] = [];
  /** The group that each event is directly in. */
  readonly owners: Group[] = [];
  /** What each event is about. */
  readonly kinds: Kind[] = [];
  /** When each event was, as far as that is known: where it does not say, when the one before it in its run was. */
  readonly times: (number | undefined)[] = [];
  /** How long each event is after the one before it in its run. */
  readonly waits: (number | undefined)[] = [];
  /** How many events there are of each kind. */
  readonly counts: Record<Kind, number> = {
    run: 0,
    text: 0,
    thoughts: 0,
    tools: 0,
    state: 0,
    activity: 0,
    step: 0,
    other: 0,
    warning: 0,
    failure: 0,
  };
  /** When the first event was. */
  startMs: number | undefined;
  /** When the newest event was. */
  endMs: number | undefined;
  #groups = 0;
  readonly #runs = new Map<string, Run>();

  constructor(entries: readonly LogEntry[]) {
    this.entries = entries;
  }

  /** How many events were read. */
  get count(): number {
    return this.owners.length;
  }

  /** Reads on, up to so many events of the list. */
  advance(count: number): void {
    for (let place = this.count; place < count; place++) {
      const entry = this.entries[place];
      if (entry === undefined) return;
      this.#take(entry, place);
    }
  }

  /** A run. */
  run(runId: string): Group | undefined {
    return this.#runs.get(runId)?.group;
  }

  /** The places of all events of a run. */
  entriesOf(runId: string): readonly number[] {
    return this.#runs.get(runId)?.entries ?? [];
  }

  /** The newest group of a kind with an id, in whatever run. */
  find(kinds: readonly GroupKind[], id: string): Group | undefined {
    for (const { group } of [...this.#runs.values()].toReversed()) {
      for (const kind of kinds) {
        const found = this.#runs.get(group.id)?.leaves.get(`${kind} ${id}`);
        if (found !== undefined) return found;
      }
    }
    return undefined;
  }

  /** The place of the event with a seq, or of the one behind where it would be. */
  placeOf(seq: number): number {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.entries[middle]?.seq ?? Infinity) < seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The subagents of all runs, by name, each name once. */
  subagentNames(): readonly string[] {
    const names = new Set<string>();
    for (const { scopes, group } of this.#runs.values())
      for (const scope of scopes.values()) if (scope.group !== group) names.add(scope.group.name);
    return [...names].toSorted();
  }

  #take(entry: LogEntry, place: number): void {
    const { event } = entry;
    const run = this.#runOf(entry.runId, place);
    const owner = this.#place(run, event, place);
    const kind = kindOf(event);
    const before = run.group.endMs;
    const atMs = entry.atMs ?? before;
    owner.items.push(place);
    run.entries.push(place);
    this.owners.push(owner);
    this.kinds.push(kind);
    this.counts[kind] += 1;
    this.times.push(atMs);
    this.waits.push(atMs === undefined || before === undefined ? undefined : atMs - before);
    if (atMs !== undefined) {
      this.startMs = Math.min(this.startMs ?? atMs, atMs);
      this.endMs = Math.max(this.endMs ?? atMs, atMs);
    }
    const problem = problemOf(event);
    for (let group: Group | undefined = owner; group !== undefined; group = group.parent) {
      group.count += 1;
      group.last = place;
      if (problem !== undefined) group[problem] += 1;
      if (atMs !== undefined) extend(group, atMs);
    }
    settle(owner, event);
  }

  #runOf(runId: string, place: number): Run {
    const known = this.#runs.get(runId);
    if (known !== undefined) return known;
    const group = this.#group("run", runId, { name: runId, runId, parent: undefined, first: place });
    const scope = scopeOf(group);
    const run = { group, scopes: new Map([["", scope]]), leaves: new Map(), entries: [], lastScope: scope };
    this.#runs.set(runId, run);
    this.runs.push(group);
    return run;
  }

  #group(kind: GroupKind, id: string, place: Pick<Group, "name" | "runId" | "parent" | "first">): Group {
    const group = new Group(this.#groups++, kind, id, place);
    place.parent?.items.push(group);
    return group;
  }

  /** The group that an event is directly in; made, where it is the first of it. */
  #place(run: Run, event: Event, place: number): Group {
    const { type } = event;
    if (type === "META") return currentOf(run.lastScope);
    const scope = this.#scopeOf(run, event, place);
    run.lastScope = scope;
    const leaf = leafOf(event, scope);
    if (leaf !== undefined) return this.#leaf(run, scope, leaf, place);
    if (type === "STEP_STARTED") {
      const step = this.#child(scope, "step", event.stepName, place);
      scope.steps.push(step);
      return step;
    }
    if (type === "STEP_FINISHED") {
      const at = scope.steps.findLastIndex(({ id }) => id === event.stepName);
      return scope.steps.splice(at, at < 0 ? 0 : 1)[0] ?? scope.group;
    }
    if (type.startsWith("RUN_") || type.startsWith("SUBAGENT_")) return scope.group;
    if (type === "REASONING_ENCRYPTED_VALUE") {
      const kinds = event.subtype === "tool-call" ? ["call"] : ["message", "reasoning"];
      const about = kinds.map((kind) => run.leaves.get(`${kind} ${event.entityId}`)).find((each) => each !== undefined);
      return about ?? currentOf(scope);
    }
    return currentOf(scope);
  }

  #leaf(run: Run, scope: Scope, { kind, id, name }: Leaf, place: number): Group {
    const key = `${kind} ${id}`;
    const known = run.leaves.get(key) ?? (kind === "reasoning" ? scope.span : undefined);
    const group = known ?? this.#child(scope, kind, id, place, name);
    if (run.leaves.get(key) === undefined) run.leaves.set(key, group);
    if (name !== undefined) group.name = name;
    scope.newest.set(kind, group);
    const { type } = this.entries[place]?.event ?? {};
    if (type === "REASONING_START") scope.span = group;
    if (type === "REASONING_END") scope.span = undefined;
    return group;
  }

  #child(scope: Scope, kind: GroupKind, id: string, place: number, name = id): Group {
    const parent = currentOf(scope);
    return this.#group(kind, id, { name, runId: parent.runId, parent, first: place });
  }

  #scopeOf(run: Run, event: Event, place: number): Scope {
    const id = "subagentRunId" in event && typeof event.subagentRunId === "string" ? event.subagentRunId : "";
    const known = run.scopes.get(id);
    if (known !== undefined) return known;
    const isStart = event.type === "SUBAGENT_STARTED";
    const above = run.scopes.get((isStart ? event.parentSubagentRunId : undefined) ?? "") ?? run.lastScope;
    const scope = scopeOf(this.#child(above, "subagent", id, place, isStart ? event.name : id));
    run.scopes.set(id, scope);
    return scope;
  }
}

const scopeOf = (group: Group): Scope => ({ group, steps: [], span: undefined, newest: new Map() });

const currentOf = ({ group, steps }: Scope): Group => steps.at(-1) ?? group;

function extend(group: Group, atMs: number): void {
  const { endMs } = group;
  if (endMs !== undefined && atMs - endMs >= GAP_MS) group.gaps.push({ fromMs: endMs, untilMs: atMs });
  group.startMs = Math.min(group.startMs ?? atMs, atMs);
  group.endMs = Math.max(endMs ?? atMs, atMs);
}

/** What is wrong, where an event says that something is. */
export function problemOf(event: Event): "repairs" | "warnings" | "errors" | undefined {
  if (event.type === "RUN_ERROR" || event.type === "SUBAGENT_ERROR") return "errors";
  if (event.type !== "META") return undefined;
  if (event.metaType === NOTES.repair) return "repairs";
  return event.metaType === NOTES.warning ? "warnings" : undefined;
}

interface Leaf {
  readonly kind: GroupKind;
  readonly id: string;
  readonly name?: string;
}

/** The message, thought, call or activity that an event is of. */
function leafOf(event: Event, { newest }: Scope): Leaf | undefined {
  const unnamed = (kind: GroupKind): string => newest.get(kind)?.id ?? "";
  switch (event.type) {
    case "TEXT_MESSAGE_START":
      return { kind: "message", id: event.messageId, name: event.name ?? event.role ?? "assistant" };
    case "TEXT_MESSAGE_CHUNK": {
      const name = event.name ?? event.role;
      return { kind: "message", id: event.messageId ?? unnamed("message"), ...(name !== undefined && { name }) };
    }
    case "TEXT_MESSAGE_CONTENT":
    case "TEXT_MESSAGE_END":
      return { kind: "message", id: event.messageId };
    case "TOOL_CALL_START":
      return { kind: "call", id: event.toolCallId, name: event.toolCallName };
    case "TOOL_CALL_CHUNK": {
      const { toolCallName: name } = event;
      return { kind: "call", id: event.toolCallId ?? unnamed("call"), ...(name !== undefined && { name }) };
    }
    case "TOOL_CALL_ARGS":
    case "TOOL_CALL_END":
    case "TOOL_CALL_RESULT":
      return { kind: "call", id: event.toolCallId };
    case "REASONING_START":
    case "REASONING_END":
    case "REASONING_MESSAGE_START":
    case "REASONING_MESSAGE_CONTENT":
    case "REASONING_MESSAGE_END":
      return { kind: "reasoning", id: event.messageId, name: "Reasoning" };
    case "REASONING_MESSAGE_CHUNK":
      return { kind: "reasoning", id: event.messageId ?? unnamed("reasoning"), name: "Reasoning" };
    case "ACTIVITY_SNAPSHOT":
    case "ACTIVITY_DELTA":
      return { kind: "activity", id: event.messageId, name: event.activityType };
    default:
      return undefined;
  }
}
