/** What the answer to an approval says: yes or no, and why. */
import type { ResumeEntry } from "../../../protocol/index.ts";
import { isRecord } from "../provider/fields.ts";

/** What somebody decided. Anything but a clear yes is a no. */
export function verdictOf({ status, payload }: ResumeEntry): { approved: boolean; reason?: string } {
  if (status === "cancelled") return { approved: false, reason: "Nobody decided." };
  const { approved = payload, reason } = isRecord(payload) ? payload : {};
  return { approved: approved === true, ...(typeof reason === "string" ? { reason } : {}) };
}
