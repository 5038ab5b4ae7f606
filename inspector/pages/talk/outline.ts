/**
 * The messages of a thread as they are laid out: what a subagent said stands in one block, where it first spoke, inside the block
 * of whoever started it. A result stands with its call. Messages are named, not held: each is drawn by its id when it changes.
 */
import type { Message } from "heddle/protocol";

/** A message, and where it is in the list. */
export interface Place {
  readonly id: string;
  readonly place: number;
}

/** A message in its place. */
export interface MessageNode extends Place {
  readonly kind: "message";
  /** Whether its speaker said nothing after it: while a run goes on, it may still grow. */
  readonly isNewest: boolean;
  /** Whether the user has said something since: whatever it left open, no run is at it any more. */
  readonly isPast: boolean;
}

/** Everything that a subagent said. */
export interface SubagentNode {
  readonly kind: "subagent";
  readonly id: string;
  readonly nodes: readonly OutlineNode[];
}

/** A piece of the layout. */
export type OutlineNode = MessageNode | SubagentNode;

/** The layout. */
export interface Outline {
  readonly nodes: readonly OutlineNode[];
  /** The results, by the call that they answer. */
  readonly results: ReadonlyMap<string, Place>;
}

/** Lays messages out. `parents` names who started a subagent; `silent` are subagents that may have said nothing yet. */
export function outlineOf(
  messages: readonly Message[],
  parents: ReadonlyMap<string, string | undefined> = new Map(),
  silent: readonly string[] = [],
): Outline {
  const calls = new Set(
    messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []).map(({ id }) => id) : [])),
  );
  const newest = new Map<string | undefined, string>();
  // Results and activities come beside what is said, and end none of it.
  for (const { id, role, subagentRunId } of messages)
    if (role !== "tool" && role !== "activity") newest.set(subagentRunId, id);
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const top: OutlineNode[] = [];
  const blocks = new Map<string, OutlineNode[]>();
  const blockOf = (id: string, above: readonly string[]): OutlineNode[] => {
    const known = blocks.get(id);
    if (known !== undefined) return known;
    const nodes: OutlineNode[] = [];
    blocks.set(id, nodes);
    const parent = parents.get(id);
    const around = parent === undefined || above.includes(parent) ? top : blockOf(parent, [...above, id]);
    around.push({ kind: "subagent", id, nodes });
    return nodes;
  };
  const results = new Map<string, Place>();
  for (const [place, { id, ...message }] of messages.entries()) {
    if (message.role === "tool" && calls.has(message.toolCallId)) {
      results.set(message.toolCallId, { id, place });
      continue;
    }
    const { subagentRunId: by } = message;
    const nodes = by === undefined ? top : blockOf(by, [by]);
    const isPast = place < asked;
    nodes.push({ kind: "message", id, place, isNewest: !isPast && newest.get(by) === id, isPast });
  }
  for (const id of silent) blockOf(id, [id]);
  return { nodes: top, results };
}
