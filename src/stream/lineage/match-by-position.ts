/**
 * Ids for messages that come without: the session dialect names none (DESIGN 9, last row).
 *
 * A posted message that stands where the branch has one of the same role and content is that message; from the first
 * difference on, all are new. Activity and reasoning may be missing from what a client repeats, and instructions may
 * stand in it that the branch never took.
 */
import type { Message } from "../../protocol/index.ts";
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
    let at = next;
    while (known[at] !== undefined && isOptional(known[at]) && !isSame(message, known[at])) at++;
    const match = known[at];
    if (isSame(message, match)) {
      next = at + 1;
      return { ...message, id: match.id };
    }
    if (!isInstruction(message)) next = known.length;
    return { ...message, id: mintId(index) };
  });
}

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
