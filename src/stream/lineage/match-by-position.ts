/**
 * Ids for messages that come without: the session dialect names none (DESIGN 9, last row).
 *
 * What people said is compared, one message of the user after the other: the first that differs is new, and so is all that
 * follows. Between two of them stands an answer, which is the branch's whatever the client made of it: it may have left out
 * calls, results, thoughts and activities, or put the pieces of a text together. What says the same is that message; another
 * text stands for the last one of the answer, so that it counts as seen, and the log's version counts. Instructions may stand
 * anywhere.
 */
import type { AssistantMessage, Message } from "../../protocol/index.ts";
import { sameMessage } from "./same-message.ts";
import type { LooseMessage } from "./same-message.ts";

/** The messages with ids: the branch's own for the common prefix, minted ones for the rest. Given ids stay. */
export function matchByPosition(
  posted: readonly LooseMessage[],
  known: readonly Message[],
  mintId: (index: number) => string,
): readonly Message[] {
  let next = 0;
  return posted.map((message, index) => {
    if (message.id !== undefined) return { ...message, id: message.id };
    const at = placeOf(message, known, next);
    const match = known[at];
    if (match !== undefined) next = at + 1;
    else if (message.role === "user") next = known.length;
    return { ...message, id: match?.id ?? mintId(index) };
  });
}

/** Where the branch has a message, from a position on; -1 for nowhere. */
function placeOf(message: LooseMessage, known: readonly Message[], from: number): number {
  const said = known.findIndex(({ role }, at) => at >= from && role === "user");
  if (message.role === "user") return isSame(message, known[said]) ? said : -1;
  const answer = known.slice(from, said === -1 ? undefined : said);
  const at = [
    answer.findIndex((each) => isSame(message, each)),
    answer.findIndex((each) => isVersion(message, each)),
    message.role === "assistant" ? answer.findLastIndex(({ role }) => role === "assistant") : -1,
  ].find((found) => found !== -1);
  return at === undefined ? -1 : from + at;
}

/** Whether a message is a client's own version of one: the same calls, or the result of the same call. */
function isVersion(message: LooseMessage, known: Message): boolean {
  if (message.role === "tool") return known.role === "tool" && known.toolCallId === message.toolCallId;
  if (message.role !== "assistant" || known.role !== "assistant") return false;
  const ids = callIds(message);
  return ids !== "" && ids === callIds(known);
}

const callIds = ({ toolCalls = [] }: Pick<AssistantMessage, "toolCalls">): string =>
  toolCalls.map(({ id }) => id).join("\n");

/** Whether a client may leave a message out when it repeats the conversation. */
export function isOptional(message: LooseMessage | undefined): boolean {
  return message?.role === "activity" || message?.role === "reasoning";
}

/** Whether a message instructs the model, rather than being part of the conversation. */
export function isInstruction({ role }: LooseMessage): boolean {
  return role === "system" || role === "developer";
}

function isSame(message: LooseMessage, match: Message | undefined): match is Message {
  return match !== undefined && sameMessage(message, match);
}
