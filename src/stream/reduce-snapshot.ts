/**
 * How a restated conversation meets the one that is held (R-STATE-03 to 05): a known message is replaced where it stands,
 * an unknown one goes to the end in the snapshot's order, and a held one that the snapshot lacks goes, activities and
 * reasoning excepted: of these two kinds all stay, unless the snapshot has any of the kind. An id that comes twice in
 * one snapshot counts once, as it comes last.
 */
import type { Message } from "../protocol/index.ts";
import type { MessageList } from "./message-list.ts";

/** Takes a snapshot of messages in. */
export function reduceSnapshot(list: MessageList, snapshot: readonly Message[]): void {
  const restated = new Map(snapshot.map((message) => [message.id, message]));
  const roles = new Set(snapshot.map(({ role }) => role));
  const kept = list.publish().flatMap((held) => {
    const now = restated.get(held.id);
    restated.delete(held.id);
    if (now !== undefined) return [now];
    const stays = (held.role === "activity" || held.role === "reasoning") && !roles.has(held.role);
    return stays ? [held] : [];
  });
  list.reset([...kept, ...restated.values()]);
}
