/** What agents were given, as those of `history-agents.ts` tell it in the log of a thread. */
import type { Message } from "heddle/protocol";
import { attachTo } from "../sse-client.ts";
import { eventsOf } from "./thread-log.ts";

/** The file of those agents. */
export const HISTORY_AGENTS = "test/acceptance/history-agents.ts";

/** The messages that the agent of a run got. */
export async function givenTo(url: string, threadId: string, runId: string): Promise<readonly Message[]> {
  const log = await eventsOf(await attachTo(url, threadId, runId));
  const told = log.find((event) => event.type === "CUSTOM" && event.name === "given");
  return Object(told).value;
}

/** A message of the user. */
export const user = (id: string, content = id) => ({ id, role: "user", content }) as const;

/** Ids, in order. */
export const idsOf = (messages: readonly { readonly id: string }[]): readonly string[] => messages.map(({ id }) => id);
