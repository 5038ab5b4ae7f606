/**
 * Encrypted reasoning goes back only to the agent that issued it. To another one it is worth nothing, and its provider may
 * refuse or keep it. Looked for only where there is any, and where the branch has runs of several agents.
 */
import type { Event, Message } from "../protocol/index.ts";
import type { RunInfo, RunKey, Store } from "../store/index.ts";
import { runTexts } from "./run-texts.ts";

const SEALED = '"encryptedValue"';

/** The messages as an agent that goes on with the branch of a run may have them: the same where nothing has to go. */
export async function ownSecrets(
  store: Store,
  parent: RunKey | undefined,
  agentName: string,
  messages: readonly Message[],
): Promise<readonly Message[]> {
  if (parent === undefined || messages.every((message) => sealedIn(message).length === 0)) return messages;
  const foreign = (await store.branch(parent)).filter(({ agent }) => agent !== agentName);
  if (foreign.length === 0) return messages;
  const found = await Promise.all(foreign.map((run) => sealedBy(store, run)));
  const theirs = new Set(found.flat());
  return messages.map((message) =>
    sealedIn(message).some((id) => theirs.has(id)) ? opened(message, theirs) : message,
  );
}

/** Ids of what is sealed in a message: itself, and its calls. */
function sealedIn(message: Message): readonly string[] {
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  return [message, ...calls].filter((part) => "encryptedValue" in part).map(({ id }) => id);
}

/** Ids of what a run has sealed. */
async function sealedBy(store: Store, run: RunInfo): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const json of runTexts(store, run)) {
    if (!json.includes(SEALED)) continue;
    const event: Event = JSON.parse(json);
    if (event.type === "REASONING_ENCRYPTED_VALUE") ids.push(event.entityId);
    if (event.type === "MESSAGES_SNAPSHOT") ids.push(...event.messages.flatMap(sealedIn));
  }
  return ids;
}

function opened(message: Message, theirs: ReadonlySet<string>): Message {
  const bare = theirs.has(message.id) ? withoutSeal(message) : message;
  if (bare.role !== "assistant" || bare.toolCalls === undefined) return bare;
  return { ...bare, toolCalls: bare.toolCalls.map((call) => (theirs.has(call.id) ? withoutSeal(call) : call)) };
}

function withoutSeal<T extends object>(part: T): T {
  const bare = { ...part };
  Reflect.deleteProperty(bare, "encryptedValue");
  Reflect.deleteProperty(bare, "encryptedValueType");
  return bare;
}
