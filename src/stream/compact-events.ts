/**
 * Compaction that keeps the form of a stream: fewer events of the same kinds, in the same order.
 *
 * What is joined stands where the first of it stood. It moves over other events only where the fold cannot tell: text
 * over anything but a restated conversation and events of its own message, state and activities within their run. A
 * message that a snapshot may have taken away can be made anew by a call, an answer or an activity, so these part its
 * text too. Nothing is joined that other starting points of the fold could tell apart: the prior history may be unknown.
 */
import type {
  ActivityDeltaEvent,
  ActivitySnapshotEvent,
  Event,
  JsonPatch,
  MessagesSnapshotEvent,
  Metadata,
  ReasoningMessageContentEvent,
  StateDeltaEvent,
  StateSnapshotEvent,
  TextMessageContentEvent,
  ToolCallArgsEvent,
} from "../protocol/index.ts";
import { foldPatches } from "./compact-patches.ts";
import { createExpandState, expand } from "./expand.ts";

type Mutable<T> = T extends unknown ? { -readonly [Field in keyof T]: T[Field] } : never;
type Fragment = TextMessageContentEvent | ReasoningMessageContentEvent | ToolCallArgsEvent;
type StateEvent = StateSnapshotEvent | StateDeltaEvent;

type Common = Pick<Event, "timestamp" | "metadata" | "rawEvent">;

/** An open item, and the event that its next fragment may join. */
interface OpenItem {
  /** Its id. */
  readonly id: string;
  /** The items that it is one of. */
  readonly among: Map<string, OpenItem>;
  /** Place of that event in the output; -1 where the next fragment begins anew. */
  at: number;
  /** That event as our own copy, once something joined it. */
  draft: Mutable<Fragment> | undefined;
  /** Raw events among the parts. */
  raws: number;
  /** Whether the message may be gone from the conversation. */
  readonly loose: boolean;
}

/** An activity, as the events since its snapshot make it. */
interface Activity {
  readonly at: number;
  /** Everything that was said, in order. */
  readonly parts: (ActivitySnapshotEvent | ActivityDeltaEvent)[];
  /** The snapshot that counts. */
  base: ActivitySnapshotEvent;
  /** Changes since then. */
  deltas: ActivityDeltaEvent[];
}

/** Events that took the place of others, and which. */
export interface Compacted {
  /** The events. */
  readonly events: readonly Event[];
  /** For each event the first and last of what it stands for, as indices of the input. Sorted by first; may overlap. */
  readonly ranges: readonly (readonly [first: number, last: number])[];
}

/** Options of `joinEvents`. */
export interface JoinOptions {
  /** Nothing came before the first event, so a state that nobody says is `{}`. */
  readonly whole?: boolean;
  /** The state in front of the first event, where it is known. */
  readonly state?: unknown;
  /** Keep the `rawEvent` of a joined event where only one part had one. Default: joined events have none. */
  readonly keepRawEvents?: boolean;
}

/** Joins what belongs together, and expands what comes in chunks. */
export function joinEvents(events: readonly Event[], options: JoinOptions = {}): Compacted {
  const joiner = new Joiner(options);
  const chunks = createExpandState();
  let index = -1;
  for (const event of events) {
    index++;
    if (chunks.lanes.size === 0 && !isChunk(event)) joiner.take(event, index);
    else for (const each of expand(chunks, event)) joiner.take(each, index);
  }
  return joiner.end();
}

const isChunk = ({ type }: Event): boolean =>
  type === "TEXT_MESSAGE_CHUNK" || type === "TOOL_CALL_CHUNK" || type === "REASONING_MESSAGE_CHUNK";

/** Events that touch no message. */
const SPARES_MESSAGES = /^(STATE_|STEP_|CUSTOM|RAW|META$)/;

class Joiner {
  /** The output; what was joined to something else is undefined. */
  readonly #out: (Event | undefined)[] = [];
  readonly #first: number[] = [];
  readonly #last: number[] = [];
  readonly #keepRawEvents: boolean;
  readonly #whole: boolean;
  /** Open messages by id. Text and reasoning of one id speak into one message. */
  readonly #messages = new Map<string, OpenItem>();
  readonly #calls = new Map<string, OpenItem>();
  readonly #activities = new Map<string, Activity>();
  /** State events of the run, and their places in the output. */
  #states: { readonly event: StateEvent; readonly at: number }[] = [];
  /** The state so far; undefined until anything says what it is. */
  #state: unknown;
  /** Whether something changed a state that nobody said. */
  #lost = false;
  #someLoose = false;
  /** The item of the last fragment: mostly the next one's too. */
  #recent: OpenItem | undefined;
  /** Place of the last restated conversation, as long as nothing has touched a message since. */
  #restatedAt = -1;

  constructor({ state, whole = false, keepRawEvents = false }: JoinOptions) {
    this.#state = state;
    this.#whole = whole;
    this.#keepRawEvents = keepRawEvents;
  }

  take(event: Event, index: number): void {
    if (event.type === "MESSAGES_SNAPSHOT" && this.#supersede(event, index)) return;
    if (event.type === "MESSAGES_SNAPSHOT") this.#restatedAt = this.#out.length;
    else if (this.#restatedAt !== -1 && !SPARES_MESSAGES.test(event.type)) this.#restatedAt = -1;
    switch (event.type) {
      case "TEXT_MESSAGE_CONTENT":
      case "REASONING_MESSAGE_CONTENT":
        return this.#addFragment(this.#itemOf(this.#messages, event.messageId), event, index);
      case "TOOL_CALL_ARGS":
        return this.#addFragment(this.#itemOf(this.#calls, event.toolCallId), event, index);
      case "ACTIVITY_SNAPSHOT":
        return this.#setActivity(event, index);
      case "ACTIVITY_DELTA":
        return this.#changeActivity(event, index);
      case "STATE_SNAPSHOT":
      case "STATE_DELTA":
        this.#states.push({ event, at: this.#out.length });
        break;
      case "RUN_STARTED":
        this.#endRun();
        if (this.#state === undefined && !this.#lost) this.#state = event.input?.state;
        break;
      case "RUN_FINISHED":
      case "RUN_ERROR":
        this.#endRun();
        break;
      default:
        this.#turn(event);
    }
    this.#push(event, index);
  }

  /**
   * Restating the same messages again, in the same order and with nothing between that touches one, makes the earlier
   * telling superfluous. Any other list would meet other places and other messages that stay.
   */
  #supersede(event: MessagesSnapshotEvent, index: number): boolean {
    const at = this.#restatedAt;
    const held = at === -1 ? undefined : this.#out[at];
    if (held?.type !== "MESSAGES_SNAPSHOT" || held.messages.length !== event.messages.length) return false;
    const { messages } = event;
    if (!held.messages.every(({ id, role }, place) => id === messages[place]?.id && role === messages[place]?.role)) {
      return false;
    }
    const { timestamp: _timestamp, rawEvent: _rawEvent, ...rest } = event;
    this.#out[at] = held.timestamp === undefined ? rest : { ...rest, timestamp: held.timestamp };
    this.#last[at] = index;
    return true;
  }

  end(): Compacted {
    this.#endRun();
    const events: Event[] = [];
    const ranges: [number, number][] = [];
    for (const [at, event] of this.#out.entries()) {
      if (event === undefined) continue;
      events.push(event);
      ranges.push([this.#first[at] ?? 0, this.#last[at] ?? 0]);
    }
    return { events, ranges };
  }

  #push(event: Event, index: number): void {
    this.#out.push(event);
    this.#first.push(index);
    this.#last.push(index);
  }

  /** What an event means for the items that are open. */
  #turn(event: Event): void {
    this.#recent = undefined;
    switch (event.type) {
      case "TEXT_MESSAGE_START":
      case "REASONING_MESSAGE_START":
        openIn(this.#messages, event.messageId);
        return;
      case "TEXT_MESSAGE_END":
      case "REASONING_MESSAGE_END":
        this.#messages.delete(event.messageId);
        return;
      case "TOOL_CALL_START":
        openIn(this.#calls, event.toolCallId);
        return this.#partLoose();
      case "TOOL_CALL_END":
        this.#calls.delete(event.toolCallId);
        return;
      case "TOOL_CALL_RESULT":
        this.#messages.delete(event.messageId);
        return this.#partLoose();
      case "MESSAGES_SNAPSHOT":
        this.#endActivities();
        for (const id of this.#messages.keys()) openIn(this.#messages, id, true);
        for (const id of this.#calls.keys()) openIn(this.#calls, id, true);
        this.#someLoose = true;
    }
  }

  /** Something may have made a message anew that was gone: from here on its text counts. */
  #partLoose(): void {
    if (!this.#someLoose) return;
    for (const item of this.#messages.values()) {
      if (item.loose) Object.assign(item, { at: -1, draft: undefined });
    }
  }

  #itemOf(among: Map<string, OpenItem>, id: string): OpenItem {
    const recent = this.#recent;
    if (recent?.id === id && recent.among === among) return recent;
    let item = among.get(id);
    if (item === undefined) {
      // Its start is out of sight, and so is whether the conversation holds it.
      item = openIn(among, id, true);
      this.#someLoose = true;
    }
    this.#recent = item;
    return item;
  }

  #addFragment(item: OpenItem, event: Fragment, index: number): void {
    const held = item.draft ?? this.#out[item.at];
    if (held?.type !== event.type) {
      item.at = this.#out.length;
      item.draft = undefined;
      this.#push(event, index);
      return;
    }
    const draft = item.draft ?? this.#draftOf(item, held);
    draft.delta += event.delta;
    if (event.metadata !== undefined) draft.metadata = { ...draft.metadata, ...event.metadata };
    if (draft.subagentRunId === undefined && event.subagentRunId !== undefined) {
      draft.subagentRunId = event.subagentRunId;
    }
    if (event.rawEvent !== undefined && this.#keepRawEvents) {
      if (++item.raws === 1) draft.rawEvent = event.rawEvent;
      else delete draft.rawEvent;
    }
    this.#last[item.at] = index;
  }

  #draftOf(item: OpenItem, held: Fragment): Mutable<Fragment> {
    const draft: Mutable<Fragment> = { ...held };
    item.raws = held.rawEvent === undefined ? 0 : 1;
    if (!this.#keepRawEvents) delete draft.rawEvent;
    item.draft = draft;
    this.#out[item.at] = draft;
    return draft;
  }

  #setActivity(event: ActivitySnapshotEvent, index: number): void {
    const held = this.#activities.get(event.messageId);
    if (held === undefined) {
      this.#partLoose();
      this.#activities.set(event.messageId, { at: this.#out.length, parts: [event], base: event, deltas: [] });
      this.#push(event, index);
      return;
    }
    if (event.replace !== false) {
      held.base = event;
      held.deltas = [];
    }
    held.parts.push(event);
    this.#last[held.at] = index;
  }

  #changeActivity(event: ActivityDeltaEvent, index: number): void {
    const held = this.#activities.get(event.messageId);
    if (held !== undefined && held.base.replace !== false) {
      held.deltas.push(event);
      held.parts.push(event);
      this.#last[held.at] = index;
      return;
    }
    // What it changes is not known: a snapshot that replaces nothing only counts where there is none yet.
    this.#endActivity(held);
    this.#activities.delete(event.messageId);
    this.#push(event, index);
  }

  #endActivity(activity: Activity | undefined): void {
    if (activity === undefined || activity.parts.length === 1) return;
    const { at, base, deltas, parts } = activity;
    const patches = deltas.map(({ patch }) => patch);
    const { value, last } = foldPatches(base.content, patches, isObject);
    const content = isObject(value) ? value : base.content;
    const activityType = (deltas[last] ?? base).activityType;
    const { type, messageId, replace, subagentRunId } = base;
    const common = {
      ...(replace === undefined ? {} : { replace }),
      ...(subagentRunId === undefined ? {} : { subagentRunId }),
      ...this.#commonOf(parts),
    };
    this.#out[at] = { type, messageId, activityType, content, ...common };
  }

  #endActivities(): void {
    for (const activity of this.#activities.values()) this.#endActivity(activity);
    this.#activities.clear();
  }

  #endRun(): void {
    this.#endActivities();
    this.#endState();
    this.#messages.clear();
    this.#calls.clear();
    this.#recent = undefined;
    this.#someLoose = false;
  }

  #endState(): void {
    const states = this.#states;
    const from = states.findLastIndex(({ event }) => event.type === "STATE_SNAPSHOT");
    const [first] = states;
    const last = states.at(-1);
    if (first === undefined || last === undefined) return;
    this.#states = [];
    const snapshot = states[from]?.event;
    const held = this.#state === undefined && this.#whole ? {} : this.#state;
    const base = snapshot?.type === "STATE_SNAPSHOT" ? snapshot.snapshot : held;
    if (base === undefined) {
      this.#lost = true;
      return;
    }
    const patches: JsonPatch[] = [];
    for (const { event } of states.slice(from + 1)) if (event.type === "STATE_DELTA") patches.push(event.delta);
    this.#state = foldPatches(base, patches).value;
    if (states.length === 1) return;
    const { subagentRunId } = last.event;
    for (const { at } of states) this.#out[at] = undefined;
    this.#out[first.at] = {
      type: "STATE_SNAPSHOT",
      snapshot: this.#state,
      ...(subagentRunId === undefined ? {} : { subagentRunId }),
      ...this.#commonOf(states.map(({ event }) => event)),
    };
    this.#last[first.at] = this.#last[last.at] ?? 0;
  }

  /** What parts have in common once they are joined: the time of the first, and all metadata, the last write wins. */
  #commonOf(parts: readonly Event[]): Common {
    const timestamp = parts[0]?.timestamp;
    const raws = this.#keepRawEvents ? parts.flatMap(({ rawEvent }) => (rawEvent === undefined ? [] : [rawEvent])) : [];
    const said = parts.flatMap(({ metadata }) => (metadata === undefined ? [] : [metadata]));
    return {
      ...(timestamp === undefined ? {} : { timestamp }),
      ...(said.length === 0 ? {} : { metadata: Object.assign({}, ...said) as Metadata }),
      ...(raws.length === 1 ? { rawEvent: raws[0] } : {}),
    };
  }
}

function openIn(among: Map<string, OpenItem>, id: string, loose = false): OpenItem {
  const item = { id, among, at: -1, draft: undefined, raws: 0, loose };
  among.set(id, item);
  return item;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
