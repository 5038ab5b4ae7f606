/**
 * What belongs together in a log: a run, a subagent of it, a step, and in these messages, reasoning, tool calls and activities.
 * A group knows what its events come to, and is added to as they are read; only `TimelineIndex` does that.
 */

/** What a group can be. */
export type GroupKind = "run" | "subagent" | "step" | "message" | "reasoning" | "call" | "activity";

/** How a group stands; `waiting` is a call without its result, or a run or subagent that asked something. */
export type GroupStatus = "open" | "waiting" | "done" | "cancelled" | "failed";

/** A silence: between two events that follow each other nothing was said for long. */
export interface Gap {
  /** When it began. */
  readonly fromMs: number;
  /** When it ended. */
  readonly untilMs: number;
}

/** What the events of a group come to. */
export class Group {
  /** The so manieth group of the log. */
  readonly number: number;
  /** What it is. */
  readonly kind: GroupKind;
  /** The id that its events share: of the run, subagent, message or call; a step's name. */
  readonly id: string;
  /** The run that it is in. */
  readonly runId: string;
  /** The group that it stands in; undefined for a run. */
  readonly parent: Group | undefined;
  /** How deep it stands: 1 for a run. */
  readonly level: number;
  /** Groups, and events by their place in the list, in order. */
  readonly items: (Group | number)[] = [];
  /** What it is called. */
  name: string;
  /** How it stands. */
  status: GroupStatus = "open";
  /** How many events are in it, at any depth. */
  count = 0;
  /** Place of its first event in the list. */
  readonly first: number;
  /** Place of its newest event in the list. */
  last: number;
  /** When its first event was. */
  startMs: number | undefined;
  /** When its newest event was. */
  endMs: number | undefined;
  /** How many deltas are in it. */
  parts = 0;
  /** How long the text of its deltas is, in bytes. */
  textBytes = 0;
  /** The beginning of that text. */
  preview = "";
  /** Long silences in it. */
  readonly gaps: Gap[] = [];
  /** How often an agent's events were put right here. */
  repairs = 0;
  /** How many warnings are here. */
  warnings = 0;
  /** How many errors are here. */
  errors = 0;
  /** Tokens that a run spent, where it says so. */
  tokens: number | undefined;

  constructor(
    number: number,
    kind: GroupKind,
    id: string,
    { name, runId, parent, first }: Pick<Group, "name" | "runId" | "parent" | "first">,
  ) {
    this.number = number;
    this.kind = kind;
    this.id = id;
    this.name = name;
    this.runId = runId;
    this.parent = parent;
    this.level = parent === undefined ? 1 : parent.level + 1;
    this.first = first;
    this.last = first;
  }

  /** How long it took so far. */
  get durationMs(): number | undefined {
    return this.startMs === undefined || this.endMs === undefined ? undefined : this.endMs - this.startMs;
  }

  /** The run that it is in, or is. */
  get run(): Group {
    return this.parent === undefined ? this : this.parent.run;
  }

  /** The longest silence in it. */
  get longestGapMs(): number {
    return this.gaps.reduce((longest, { fromMs, untilMs }) => Math.max(longest, untilMs - fromMs), 0);
  }

  /** Whether anything is wrong in it. */
  get hasProblems(): boolean {
    return this.repairs + this.warnings + this.errors > 0;
  }
}

/** The places of the events in a group, at any depth, in the order of the log. */
export function entriesIn(group: Group): number[] {
  const found: number[] = [];
  const visit = ({ items }: Group): void => {
    for (const item of items) {
      if (typeof item === "number") found.push(item);
      else visit(item);
    }
  };
  visit(group);
  return found.toSorted((one, other) => one - other);
}
