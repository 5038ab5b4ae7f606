/**
 * The model behind `arbitraryStream`: small moves ("speak", "call", "answer") that write valid events.
 *
 * A move that does not fit is left out. Ids come from a small pool and live as long as the thread, so things meet:
 * messages are opened again, calls are answered runs later, a snapshot restates what is known beside what is not.
 */
import type { Event, JsonPatchOperation, Message, Metadata, TextMessageRole, ToolCall } from "../src/protocol/index.ts";

type Owner = string | undefined;
type ItemKind = "text" | "tool" | "thought" | "span";
type Doc = Readonly<Record<string, unknown>>;

/** One move: what to do, to which of the pool (`at`), with which variant (`by`), and a mask of small choices (`how`). */
export interface Move {
  readonly kind: keyof typeof MOVES;
  readonly at: number;
  readonly by: number;
  readonly how: number;
}

interface Text {
  readonly role: TextMessageRole;
  readonly name: string | undefined;
  readonly owner: Owner;
}

interface Call {
  readonly name: string;
  readonly parent: string | undefined;
  readonly owner: Owner;
}

interface Activity {
  readonly owner: Owner;
  readonly content: Doc;
}

const TEXT_IDS = ["m1", "m2", "m3"];
/** One id is a message's too: ids are unique by kind only. */
const CALL_IDS = ["c1", "c2", "c3", "m3"];
const THOUGHT_IDS = ["t1", "t2"];
const ACTIVITY_IDS = ["a1", "a2"];
const SUBAGENT_IDS = ["s1", "s2", "s3"];
const STEPS = ["plan", "act"];
const KEYS = ["a", "b", "x/y", "m~n"];
const DELTAS = ["", "one ", "two ", "é", '{"q":', "1}"];
const METADATA: readonly Metadata[] = [{ k: 1 }, { k: 2, deep: { x: [1] } }, { other: null }];

export const pick = <T>(pool: readonly [T, ...T[]] | readonly T[], index: number): T => pool[index % pool.length] as T;
export const given = <K extends string, V>(key: K, value: V | undefined): { readonly [key in K]?: V } =>
  value === undefined ? {} : ({ [key]: value } as { readonly [key in K]: V });
const pointer = (key: string): string => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
const isDoc = (value: unknown): value is Doc => typeof value === "object" && value !== null && !Array.isArray(value);

/** A patch that applies to a document, and what it makes of it. */
function patchFor(doc: Doc, { at, by }: Move): readonly [JsonPatchOperation[], Doc] {
  const key = pick(KEYS, at);
  const other = pick(KEYS, at + 1);
  const path = pointer(key);
  const { [key]: held, ...rest } = doc;
  const list = Array.isArray(doc.list) ? (doc.list as readonly unknown[]) : undefined;
  const value = by % 2 === 0 ? by : { v: by };
  if (by === 0) return [[], doc];
  if (by === 1) {
    return list === undefined
      ? [[{ op: "add", path: "/list", value: [at] }], { ...doc, list: [at] }]
      : [[{ op: "add", path: "/list/-", value: at }], { ...doc, list: [...list, at] }];
  }
  if (held === undefined || by === 2) return [[{ op: "add", path, value }], { ...doc, [key]: value }];
  if (by === 3) return [[{ op: "remove", path }], rest];
  if (by === 4) return [[{ op: "move", from: path, path: pointer(other) }], { ...rest, [other]: held }];
  if (by === 5) return [[{ op: "copy", from: path, path: pointer(other) }], { ...doc, [other]: held }];
  if (by === 6) return [[{ op: "replace", path: "", value: { a: 1 } }], { a: 1 }];
  const test = { op: "test", path, value: held } as const;
  return [[test, { op: "replace", path, value }], { ...doc, [key]: value }];
}

/** The model: what is known of the thread, what is open in the run, and the events so far. */
export class Script {
  readonly events: Event[] = [];
  readonly chunks: boolean;
  readonly texts = new Map<string, Text>();
  readonly calls = new Map<string, Call>();
  readonly thoughts = new Map<string, Owner>();
  readonly activities = new Map<string, Activity>();
  readonly answered = new Set<string>();
  state: unknown = {};
  runId = "";
  clock = 1000;
  readonly open = new Map<string, { readonly kind: ItemKind; readonly id: string }>();
  readonly steps = new Map<string, { readonly name: string; readonly owner: Owner }>();
  /** Subagents that were announced: true while active. */
  readonly subagents = new Map<string, boolean>();
  readonly tagged = new Set<string>();
  readonly pending = new Set<string>();
  /** Calls that the run has started. */
  readonly begun = new Set<string>();
  /** Calls that the run has answered. */
  readonly settled = new Set<string>();
  /** Activities that the run has shown and a snapshot has dropped: whoever showed them owns their ids to its end. */
  readonly dropped = new Set<string>();
  /** Open chunk streams by lane. */
  readonly lanes = new Map<Owner, { readonly kind: ItemKind; readonly id: string }>();

  constructor(chunks: boolean) {
    this.chunks = chunks;
  }

  emit(event: Event): void {
    this.events.push(event);
    const tag = "subagentRunId" in event ? event.subagentRunId : undefined;
    if (tag !== undefined) this.tagged.add(tag);
    if (/^(RUN_|MESSAGES_SNAPSHOT)/.test(event.type)) this.lanes.clear();
    else if (!/^(RAW|ACTIVITY_|SUBAGENT_STARTED|REASONING_ENCRYPTED)|_CHUNK$/.test(event.type)) this.lanes.delete(tag);
  }

  isOpen(kind: ItemKind, id: string): boolean {
    return this.open.has(`${kind}:${id}`) || [...this.lanes.values()].some((it) => it.kind === kind && it.id === id);
  }

  /** Fields that any event may have. */
  common({ how }: Move, owner?: Owner): { timestamp?: number; metadata?: Metadata; subagentRunId?: string } {
    this.clock += how % 3;
    return {
      ...given("timestamp", (how & 1) === 0 ? undefined : this.clock),
      ...given("metadata", (how & 6) === 6 ? pick(METADATA, how >> 3) : undefined),
      ...given("subagentRunId", owner),
    };
  }

  /** Who makes the next new thing: mostly the agent, or a subagent that may still speak. */
  owner({ by }: Move): Owner {
    const id = by < 5 ? undefined : pick(SUBAGENT_IDS, by);
    return id === undefined || this.subagents.get(id) === false ? undefined : id;
  }

  isSilenced(owner: Owner): boolean {
    return owner !== undefined && this.subagents.get(owner) === false;
  }

  ownerOf(kind: ItemKind, id: string): Owner {
    if (kind === "text") return this.texts.get(id)?.owner;
    return kind === "tool" ? this.calls.get(id)?.owner : this.thoughts.get(id);
  }

  /** The tag of a continuation: the owner, or none. */
  tag(kind: ItemKind, id: string, { how }: Move): Owner {
    return (how & 8) === 0 ? this.ownerOf(kind, id) : undefined;
  }

  end(kind: ItemKind, id: string, move: Move): void {
    const common = this.common(move, this.tag(kind, id, move));
    this.open.delete(`${kind}:${id}`);
    if (kind === "text") this.emit({ type: "TEXT_MESSAGE_END", messageId: id, ...common });
    if (kind === "tool") this.emit({ type: "TOOL_CALL_END", toolCallId: id, ...common });
    if (kind === "thought") this.emit({ type: "REASONING_MESSAGE_END", messageId: id, ...common });
    if (kind === "span") this.emit({ type: "REASONING_END", messageId: id, ...common });
  }

  /** Closes everything, or everything that one subagent owns. */
  closeAll(move: Move, only?: string): void {
    for (const { kind, id } of this.open.values()) {
      if (only === undefined || this.ownerOf(kind, id) === only) this.end(kind, id, { ...move, how: 0 });
    }
    for (const [key, { name, owner }] of this.steps) {
      if (only !== undefined && owner !== only) continue;
      this.steps.delete(key);
      this.emit({ type: "STEP_FINISHED", stepName: name, ...given("subagentRunId", owner) });
    }
    if (only !== undefined) return;
    for (const [id, active] of this.subagents) if (active) endSubagent(this, id, { ...move, by: 0, how: 0 });
  }

  text(move: Move): readonly [string, Text] {
    const id = pick(TEXT_IDS, move.at);
    const role = move.by === 4 ? pick(["user", "system", "developer"] as const, move.how) : "assistant";
    const name = (move.how & 48) === 48 ? "Ada" : undefined;
    const text = this.texts.get(id) ?? { role, name, owner: this.owner(move) };
    return [id, text];
  }

  call(move: Move): readonly [string, Call] {
    const id = pick(CALL_IDS, move.at);
    const owner = this.owner(move);
    const carriers = [...this.texts].filter(([, text]) => text.role === "assistant" && text.owner === owner);
    const carrier = carriers[move.how % 4]?.[0] ?? ((move.how & 24) === 24 ? `p${owner ?? ""}` : undefined);
    return [id, this.calls.get(id) ?? { name: pick(["search", "pay"], move.how), parent: carrier, owner }];
  }

  thought(move: Move): readonly [string, Owner] {
    const id = pick(THOUGHT_IDS, move.at);
    return [id, this.thoughts.has(id) ? this.thoughts.get(id) : this.owner(move)];
  }
}

function endSubagent(script: Script, id: string, move: Move): void {
  script.closeAll(move, id);
  script.subagents.set(id, false);
  const common = { ...script.common(move), subagentRunId: id };
  const suspended = { type: "suspended", ...(move.how % 2 === 0 ? {} : { interruptIds: ["i1"] }) } as const;
  const outcome = pick([undefined, { type: "success" } as const, suspended], move.by);
  if (move.by === 3) script.emit({ type: "SUBAGENT_ERROR", message: "no", ...common });
  else script.emit({ type: "SUBAGENT_FINISHED", ...given("outcome", outcome), ...common });
}

/** A chunk of an item in its lane: opens it, or continues it, then with or without id and tag. */
function chunk(script: Script, kind: "text" | "tool" | "thought", id: string, owner: Owner, move: Move): void {
  const lane = script.lanes.get(owner);
  const continues = lane?.kind === kind && lane.id === id;
  const sole = [...script.lanes.values()].filter((open) => open.kind === kind).length === 1;
  const untagged = continues && (move.how & 8) !== 0;
  const anonymous = continues && (move.how & 16) !== 0 && (!untagged || owner === undefined || sole);
  const common = {
    ...script.common(move, untagged ? undefined : owner),
    ...given("delta", move.by === 3 ? undefined : pick(DELTAS, move.by)),
    ...given("rawEvent", (move.how & 40) === 40 ? { raw: move.at } : undefined),
  };
  const says = !continues || (move.how & 32) !== 0;
  script.lanes.set(owner, { kind, id });
  const messageId = anonymous ? undefined : id;
  if (kind === "thought") {
    script.emit({ type: "REASONING_MESSAGE_CHUNK", ...given("messageId", messageId), ...common });
  } else if (kind === "text") {
    const { role, name } = script.texts.get(id) as Text;
    const said = says ? { ...(role === "assistant" ? {} : { role }), ...given("name", name) } : {};
    script.emit({ type: "TEXT_MESSAGE_CHUNK", ...given("messageId", messageId), ...said, ...common });
  } else {
    const { name, parent } = script.calls.get(id) as Call;
    const said = says ? { toolCallName: name, ...given("parentMessageId", parent) } : {};
    script.emit({ type: "TOOL_CALL_CHUNK", ...given("toolCallId", messageId), ...said, ...common });
  }
}

function begin(script: Script, id: string, call: Call): void {
  script.calls.set(id, call);
  script.begun.add(id);
  if (!script.settled.has(id)) script.pending.add(id);
}

/** Whether a call may be opened: not by a finished subagent, and not once the run has answered it for an earlier run. */
const mayCall = (script: Script, id: string, { owner }: Call): boolean =>
  !script.isSilenced(owner) && (script.begun.has(id) || !script.settled.has(id));

/** Messages that a snapshot or an input restates: those of the mask, those that are open, and history of its own. */
export function restate(script: Script, move: Move): readonly Message[] {
  const chosen = (index: number): boolean => ((move.how >> (index % 5)) & 1) === 1;
  const content = `restated ${move.by}`;
  const calls = new Map<string, ToolCall[]>();
  for (const [index, [id, { name, parent }]] of [...script.calls].entries()) {
    if (!chosen(index) && !script.isOpen("tool", id)) continue;
    if (parent === undefined && TEXT_IDS.includes(id)) continue;
    const call: ToolCall = { id, type: "function", function: { name, arguments: "{}" } };
    calls.set(parent ?? id, [...(calls.get(parent ?? id) ?? []), call]);
  }
  const messages: Message[] = move.by % 2 === 0 ? [] : [{ id: "h1", role: "user", content: pick(PARTS, move.by >> 1) }];
  for (const [index, [id, { role, name, owner }]] of [...script.texts].entries()) {
    if (!chosen(index) && !script.isOpen("text", id) && !calls.has(id)) continue;
    const common = { id, content, ...given("name", name), ...given("subagentRunId", owner) };
    if (role === "assistant") messages.push({ ...common, role, ...given("toolCalls", calls.get(id)) });
    else messages.push({ ...common, role });
    calls.delete(id);
  }
  for (const [id, toolCalls] of calls) {
    const owner = script.calls.get(toolCalls[0]?.id ?? "")?.owner;
    messages.push({ id, role: "assistant", toolCalls, ...given("subagentRunId", owner) });
  }
  for (const id of script.answered) {
    if (chosen(id.length + move.at)) messages.push({ id: `r-${id}`, role: "tool", toolCallId: id, content: "again" });
  }
  if (move.by > 4) messages.push({ id: "h2", role: "assistant", content: "old", metadata: { k: 0 } });
  return messages;
}

const IMAGE = { type: "image", source: { type: "url", value: "https://example.test/x" } } as const;
const PARTS = ["text", [{ type: "text", text: "see" }, IMAGE]] as const;

/** What the moves do, by name. */
export const MOVES = {
  startText(script: Script, move: Move) {
    const [id, text] = script.text(move);
    if (script.isOpen("text", id) || script.isSilenced(text.owner)) return;
    const { role, name, owner } = text;
    script.texts.set(id, text);
    script.open.set(`text:${id}`, { kind: "text", id });
    const spoken = role === "assistant" && (move.how & 16) !== 0 ? {} : { role };
    const common = { ...given("name", name), ...script.common(move, owner) };
    script.emit({ type: "TEXT_MESSAGE_START", messageId: id, ...spoken, ...common });
  },
  startCall(script: Script, move: Move) {
    const [id, call] = script.call(move);
    if (script.isOpen("tool", id) || !mayCall(script, id, call)) return;
    begin(script, id, call);
    script.open.set(`tool:${id}`, { kind: "tool", id });
    const common = { ...given("parentMessageId", call.parent), ...script.common(move, call.owner) };
    script.emit({ type: "TOOL_CALL_START", toolCallId: id, toolCallName: call.name, ...common });
  },
  startThought(script: Script, move: Move) {
    const [id, owner] = script.thought(move);
    const kind = (move.how & 16) === 0 ? "thought" : "span";
    if (script.isOpen(kind, id) || script.isSilenced(owner)) return;
    script.thoughts.set(id, owner);
    script.open.set(`${kind}:${id}`, { kind, id });
    const common = { messageId: id, ...script.common(move, owner) };
    if (kind === "span") script.emit({ type: "REASONING_START", ...common });
    else script.emit({ type: "REASONING_MESSAGE_START", role: "reasoning", ...common });
  },
  /** The next fragment of something that is open. */
  goOn(script: Script, move: Move) {
    const open = [...script.open.values()].filter(({ kind }) => kind !== "span");
    if (open.length === 0) return;
    const { kind, id } = pick(open, move.at);
    const common = { delta: pick(DELTAS, move.by), ...script.common(move, script.tag(kind, id, move)) };
    if (kind === "text") script.emit({ type: "TEXT_MESSAGE_CONTENT", messageId: id, ...common });
    else if (kind === "tool") script.emit({ type: "TOOL_CALL_ARGS", toolCallId: id, ...common });
    else script.emit({ type: "REASONING_MESSAGE_CONTENT", messageId: id, ...common });
  },
  end(script: Script, move: Move) {
    const open = [...script.open.values()];
    if (open.length === 0) return;
    const { kind, id } = pick(open, move.at);
    script.end(kind, id, move);
  },
  chunk(script: Script, move: Move) {
    if (!script.chunks) return;
    const kind = pick(["text", "tool", "thought"] as const, move.how >> 2);
    const last = script.lanes.get(script.owner(move));
    if (last !== undefined && last.kind !== "span" && move.at % 2 === 0) {
      chunk(script, last.kind, last.id, script.owner(move), move);
      return;
    }
    const [textId, text] = script.text(move);
    const [callId, call] = script.call(move);
    const [thoughtId, thinker] = script.thought(move);
    const id = kind === "text" ? textId : kind === "tool" ? callId : thoughtId;
    const owner = kind === "text" ? text.owner : kind === "tool" ? call.owner : thinker;
    const lane = script.lanes.get(owner);
    const isElsewhere = script.isOpen(kind, id) && !(lane?.kind === kind && lane.id === id);
    if (isElsewhere || script.isSilenced(owner) || (kind === "tool" && !mayCall(script, id, call))) return;
    if (kind === "text") script.texts.set(id, text);
    if (kind === "tool") begin(script, id, call);
    if (kind === "thought") script.thoughts.set(id, owner);
    chunk(script, kind, id, owner, move);
  },
  /** Answers a call that is not open, of this run or an earlier one, once. */
  answer(script: Script, move: Move) {
    const waiting = [...script.calls.keys()].filter((id) => !script.answered.has(id) && !script.isOpen("tool", id));
    if (waiting.length === 0) return;
    const id = pick(waiting, move.at);
    script.answered.add(id);
    script.settled.add(id);
    script.pending.delete(id);
    const owner = script.calls.get(id)?.owner;
    const said = { content: pick(["done", "", ...PARTS], move.by), ...((move.how & 8) === 0 ? {} : { role: "tool" }) };
    const common = script.common(move, script.isSilenced(owner) ? undefined : owner);
    const result = { messageId: `r-${id}`, toolCallId: id, ...said, ...common } as const;
    script.emit({ type: "TOOL_CALL_RESULT", ...result } as Event);
  },
  step(script: Script, move: Move) {
    const owner = script.owner(move);
    const name = pick(STEPS, move.at);
    const key = `${owner ?? ""}:${name}`;
    const common = { stepName: name, ...script.common(move, owner) };
    if (script.steps.delete(key)) script.emit({ type: "STEP_FINISHED", ...common });
    else {
      script.steps.set(key, { name, owner });
      script.emit({ type: "STEP_STARTED", ...common });
    }
  },
  subagent(script: Script, move: Move) {
    const id = pick(SUBAGENT_IDS, move.at);
    const active = script.subagents.get(id);
    if (active === true) return endSubagent(script, id, move);
    if (active === false || script.tagged.has(id)) return;
    const parent = [...script.subagents.keys()][move.by];
    const caller = [...script.calls.keys()][move.by];
    script.subagents.set(id, true);
    const links = { ...given("parentSubagentRunId", parent), ...given("parentToolCallId", caller) };
    script.emit({ type: "SUBAGENT_STARTED", name: `agent ${id}`, ...links, ...script.common(move), subagentRunId: id });
  },
  state(script: Script, move: Move) {
    const owner = (move.how & 32) === 0 ? undefined : script.owner({ ...move, by: 6 });
    const common = script.common(move, owner);
    if ((move.how & 24) === 24 || !isDoc(script.state)) {
      script.state = pick<unknown>([{}, { a: 1, list: [] }, { b: { v: 2 } }, null, 0, [1]], move.by);
      script.emit({ type: "STATE_SNAPSHOT", snapshot: script.state, ...common });
      return;
    }
    const [delta, next] = patchFor(script.state, move);
    script.state = next;
    script.emit({ type: "STATE_DELTA", delta, ...common });
  },
  activity(script: Script, move: Move) {
    const id = pick(ACTIVITY_IDS, move.at);
    const held = script.activities.get(id);
    const activityType = pick(["PLAN", "SEARCH"], move.how);
    if (held !== undefined && (move.how & 16) === 0) {
      const [patch, content] = patchFor(held.content, move);
      script.activities.set(id, { ...held, content });
      const owner = (move.how & 8) === 0 && !script.isSilenced(held.owner) ? held.owner : undefined;
      script.emit({ type: "ACTIVITY_DELTA", messageId: id, activityType, patch, ...script.common(move, owner) });
      return;
    }
    const keeps = (move.how & 32) === 32 && !script.dropped.has(id);
    const owner = keeps && held !== undefined ? held.owner : script.owner(move);
    const content = pick<Doc>([{}, { a: 1 }, { list: [1], b: "x" }], move.by);
    if (script.isSilenced(owner)) return;
    if (held === undefined || !keeps) script.activities.set(id, { owner, content });
    const said = { activityType, content, ...(keeps ? { replace: false } : {}), ...script.common(move, owner) };
    script.emit({ type: "ACTIVITY_SNAPSHOT", messageId: id, ...said });
  },
  restate(script: Script, move: Move) {
    const messages = [...restate(script, move)];
    if (move.at === 1) {
      for (const [id, owner] of script.thoughts) {
        messages.push({ id, role: "reasoning", content: "was thought", ...given("subagentRunId", owner) });
      }
    }
    const [first] = script.activities;
    if (move.at === 2 && first !== undefined) {
      const [id, { owner, content }] = first;
      messages.unshift({ id, role: "activity", activityType: "PLAN", content, ...given("subagentRunId", owner) });
      for (const other of script.activities.keys()) {
        if (other === id) continue;
        script.activities.delete(other);
        script.dropped.add(other);
      }
    }
    script.emit({ type: "MESSAGES_SNAPSHOT", messages, ...script.common(move) });
  },
  seal(script: Script, move: Move) {
    const calls = (move.how & 16) !== 0;
    const known = calls ? [...script.calls.keys()] : [...script.texts.keys(), ...script.thoughts.keys()];
    const entityId = pick([...known, "nobody"], move.at);
    const kind = calls ? "tool" : script.texts.has(entityId) ? "text" : "thought";
    const owner = script.tag(kind, entityId, move);
    const common = script.common(move, script.isSilenced(owner) ? undefined : owner);
    const value = {
      encryptedValue: `sealed ${move.by}`,
      ...given("encryptedValueType", move.by > 4 ? "x.y" : undefined),
    };
    script.emit({
      type: "REASONING_ENCRYPTED_VALUE",
      subtype: calls ? "tool-call" : "message",
      entityId,
      ...value,
      ...common,
    });
  },
  other(script: Script, move: Move) {
    const value = pick([null, 1, { deep: [true] }], move.by);
    const common = script.common(move, script.owner(move));
    if (move.at % 2 === 0) script.emit({ type: "CUSTOM", name: "note", value, ...common });
    else script.emit({ type: "RAW", event: value, source: "provider", ...common });
  },
};
