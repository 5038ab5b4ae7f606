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
import { isObject } from "./json-value.ts";

type Mutable<T> = T extends unknown ? { -readonly [Field in keyof T]: T[Field] } : never;
type Fragment = TextMessageContentEvent | ReasoningMessageContentEvent | ToolCallArgsEvent;
type StateEvent = StateSnapshotEvent | StateDeltaEvent;
type ActivityEvent = ActivitySnapshotEvent | ActivityDeltaEvent;

type Common = Pick<Event, "timestamp" | "metadata" | "rawEvent">;

/** A place in the output. */
interface Place {
  /** What stands there; undefined once it was joined to something else. */
  event: Event | undefined;
  /** First and last of what that stands for. */
  readonly range: [first: number, last: number];
}

/** An open item, and the event that its next fragment may join. */
interface OpenItem {
  /** Its id. */
  readonly id: string;
  /** That event, our own copy; undefined where the next fragment begins anew. */
  draft: Mutable<Fragment> | undefined;
  /** What it stands for. */
  range: Place["range"];
  /** Raw events among the parts. */
  raws: number;
  /** Whether the message may be gone from the conversation. */
  readonly loose: boolean;
}

/** An activity, as the events since its snapshot make it. */
interface Activity {
  readonly place: Place;
  /** Everything that was said, in order. */
  readonly parts: ActivityEvent[];
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
  for (let index = 0; index < events.length; index++) {
    if (chunks.lanes.size === 0) index = joiner.goOn(events, index);
    const event = events[index];
    if (event !== undefined) for (const each of expand(chunks, event)) joiner.take(each, index);
  }
  return joiner.end();
}

/** Events that touch no message. */
const SPARES_MESSAGES = /^(STATE_|STEP_|CUSTOM|RAW|META$)/;

/** Joins events, one after the other. */
export class Joiner {
  readonly #out: Place[] = [];
  readonly #keepRawEvents: boolean;
  readonly #whole: boolean;
  /** Open messages by id. Text and reasoning of one id speak into one message. */
  readonly #messages = new Map<string, OpenItem>();
  readonly #calls = new Map<string, OpenItem>();
  readonly #activities = new Map<string, Activity>();
  /** State events of the run, and their places in the output. */
  #states: { readonly event: StateEvent; readonly place: Place }[] = [];
  /** The state so far; undefined until anything says what it is. */
  #state: unknown;
  /** Whether something changed a state that nobody said. */
  #lost = false;
  /** The item that the last fragment joined: mostly the next one does too. */
  #recent: OpenItem | undefined;
  /** The last restated conversation, as often as it was told, as long as nothing has touched a message since. */
  #restated: { readonly place: Place; readonly parts: MessagesSnapshotEvent[] } | undefined;

  constructor({ state, whole = false, keepRawEvents = false }: JoinOptions) {
    this.#state = state;
    this.#whole = whole;
    this.#keepRawEvents = keepRawEvents;
  }

  /**
   * Joins what continues the last fragment and says nothing but text, and returns the place of the first that does not.
   * Nearly all events of a log are of this kind.
   */
  goOn(events: readonly Event[], from: number): number {
    const recent = this.#recent;
    if (recent?.draft === undefined) return from;
    const { id, draft } = recent;
    const { type } = draft;
    const isCall = type === "TOOL_CALL_ARGS";
    let text = draft.delta;
    let index = from;
    for (; index < events.length; index++) {
      const event = events[index];
      if (event?.type !== type) break;
      const named: { readonly messageId?: string; readonly toolCallId?: string } = event;
      if ((isCall ? named.toolCallId : named.messageId) !== id) break;
      if (event.metadata !== undefined || event.subagentRunId !== undefined || event.rawEvent !== undefined) break;
      text += event.delta;
    }
    draft.delta = text;
    if (index > from) recent.range[1] = index - 1;
    return index;
  }

  /** Takes one expanded event in, which stands at this place of the input. */
  take(event: Event, index: number): void {
    if (event.type === "MESSAGES_SNAPSHOT" && this.#supersede(event, index)) return;
    if (this.#restated !== undefined && !SPARES_MESSAGES.test(event.type)) this.#restated = undefined;
    switch (event.type) {
      case "TEXT_MESSAGE_CONTENT":
      case "REASONING_MESSAGE_CONTENT":
        return this.#addFragment(itemIn(this.#messages, event.messageId), event, index);
      case "TOOL_CALL_ARGS":
        return this.#addFragment(itemIn(this.#calls, event.toolCallId), event, index);
      case "ACTIVITY_SNAPSHOT":
      case "ACTIVITY_DELTA":
        return this.#takeActivity(event, index);
      case "STATE_SNAPSHOT":
      case "STATE_DELTA":
        this.#states.push({ event, place: this.#push(event, index) });
        return;
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
    const place = this.#push(event, index);
    if (event.type === "MESSAGES_SNAPSHOT") this.#restated = { place, parts: [event] };
  }

  /**
   * Restating the same messages again, in the same order and with nothing between that touches one, makes the earlier
   * telling superfluous. Any other list would meet other places and other messages that stay.
   */
  #supersede(event: MessagesSnapshotEvent, index: number): boolean {
    const held = this.#restated;
    const [first] = held?.parts ?? [];
    if (held === undefined || first === undefined || order(first) !== order(event)) return false;
    held.parts.push(event);
    held.place.event = this.#joined(event, held.parts);
    held.place.range[1] = index;
    return true;
  }

  /** What came of it. Nothing more may be taken in. */
  end(): Compacted {
    this.#endRun();
    const events: Event[] = [];
    const ranges: Place["range"][] = [];
    for (const { event, range } of this.#out) {
      if (event === undefined) continue;
      events.push(event);
      ranges.push(range);
    }
    return { events, ranges };
  }

  #push(event: Event, index: number): Place {
    const place: Place = { event, range: [index, index] };
    this.#out.push(place);
    return place;
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
        for (const among of [this.#messages, this.#calls]) for (const id of among.keys()) openIn(among, id, true);
    }
  }

  /** Something may have made a message anew that was gone: from here on its text counts. */
  #partLoose(): void {
    for (const item of this.#messages.values()) {
      if (item.loose) item.draft = undefined;
    }
  }

  #addFragment(item: OpenItem, event: Fragment, index: number): void {
    const { draft } = item;
    if (draft?.type !== event.type) {
      item.draft = { ...event };
      item.raws = event.rawEvent === undefined ? 0 : 1;
      item.range = this.#push(item.draft, index).range;
      return;
    }
    this.#recent = item;
    draft.delta += event.delta;
    if (event.metadata !== undefined) draft.metadata = { ...draft.metadata, ...event.metadata };
    if (draft.subagentRunId === undefined && event.subagentRunId !== undefined) {
      draft.subagentRunId = event.subagentRunId;
    }
    if (event.rawEvent !== undefined && ++item.raws === 1) draft.rawEvent = event.rawEvent;
    if (item.raws > 1 || !this.#keepRawEvents) delete draft.rawEvent;
    item.range[1] = index;
  }

  #takeActivity(event: ActivityEvent, index: number): void {
    const { messageId } = event;
    const held = this.#activities.get(messageId);
    if (event.type === "ACTIVITY_DELTA") {
      if (held === undefined || held.base.replace === false) {
        // What it changes is not known: a snapshot that replaces nothing only counts where there is none yet.
        if (held !== undefined) this.#endActivity(held);
        this.#activities.delete(messageId);
        this.#push(event, index);
        return;
      }
      held.deltas.push(event);
    } else if (held === undefined) {
      this.#partLoose();
      this.#activities.set(messageId, { place: this.#push(event, index), parts: [event], base: event, deltas: [] });
      return;
    } else if (event.replace !== false) {
      held.base = event;
      held.deltas = [];
    }
    held.parts.push(event);
    held.place.range[1] = index;
  }

  #endActivity({ place, base, deltas, parts }: Activity): void {
    if (parts.length === 1) return;
    const patches = deltas.map(({ patch }) => patch);
    const { value, last } = foldPatches(base.content, patches, isObject);
    const content = isObject(value) ? value : base.content;
    const { activityType } = deltas[last] ?? base;
    place.event = { ...this.#joined(base, parts), activityType, content };
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
    const patches = states.slice(from + 1).flatMap(({ event }) => (event.type === "STATE_DELTA" ? [event.delta] : []));
    this.#state = foldPatches(base, patches).value;
    if (states.length === 1) return;
    const { subagentRunId } = last.event;
    for (const { place } of states) place.event = undefined;
    first.place.event = {
      type: "STATE_SNAPSHOT",
      snapshot: this.#state,
      ...(subagentRunId === undefined ? {} : { subagentRunId }),
      ...this.#commonOf(states.map(({ event }) => event)),
    };
    first.place.range[1] = last.place.range[1];
  }

  /** The event that counts, with what all parts said. */
  #joined<T extends Event>({ timestamp: _t, metadata: _m, rawEvent: _r, ...said }: T, parts: readonly Event[]) {
    return { ...said, ...this.#commonOf(parts) };
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

/** What has to be the same in two snapshots of messages for one to stand for both. */
const order = ({ messages }: MessagesSnapshotEvent): string =>
  JSON.stringify(messages.map(({ id, role }) => [id, role]));

function openIn(among: Map<string, OpenItem>, id: string, loose = false): OpenItem {
  const item: OpenItem = { id, draft: undefined, range: [0, 0], raws: 0, loose };
  among.set(id, item);
  return item;
}

/** An open item. Where its start is out of sight, so is whether the conversation holds it. */
const itemIn = (among: Map<string, OpenItem>, id: string): OpenItem => among.get(id) ?? openIn(among, id, true);
