/** Whether whoever looks may change a thread. */
import type { ThreadDetails } from "heddle/client";
import { useConnection } from "../server/connection.tsx";

/** Why nothing can be done, for titles. */
export const READ_ONLY = "You may only watch this conversation.";

/** Whether the one who looks may say something in a thread, and change its head. */
export function useMayWrite(details: ThreadDetails | undefined): boolean {
  const { me } = useConnection();
  return me.mayStart && details !== undefined && details.role !== "observer";
}
