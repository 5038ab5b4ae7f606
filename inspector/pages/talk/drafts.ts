/** What was written and not sent, by conversation: looking at another page, or signing in again, loses none of it. */
import type { Attachment } from "./attachments.ts";

/** What is written. */
export interface MessageDraft {
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

const drafts = new Map<string, MessageDraft>();

/** What was written in a conversation. */
export const draftIn = (threadId: string): MessageDraft => drafts.get(threadId) ?? { text: "", attachments: [] };

/** Keeps what is written; nothing at all is not kept. */
export function keepDraft(threadId: string, draft: MessageDraft): void {
  if (draft.text === "" && draft.attachments.length === 0) drafts.delete(threadId);
  else drafts.set(threadId, draft);
}
