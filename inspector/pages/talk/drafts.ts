/**
 * What was written and not sent, by who wrote it and in which conversation. It is kept apart from the page: looking at another
 * page, or signing in again, loses none of it, and what comes back or is read meanwhile is found there.
 */
import type { Attachment } from "./attachments.ts";

/** What is written. */
export interface MessageDraft {
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** How many files are being read. */
  readonly reading: number;
}

const NOTHING: MessageDraft = { text: "", attachments: [], reading: 0 };

const drafts = new Map<string, MessageDraft>();
const listeners = new Set<() => void>();

/** Whether nothing is written. */
export const isBlank = ({ text, attachments }: MessageDraft): boolean => text === "" && attachments.length === 0;

/** What was written: the same object until it is changed. */
export const draftIn = (key: string): MessageDraft => drafts.get(key) ?? NOTHING;

/** Changes what is written; nothing at all is not kept. */
export function changeDraft(key: string, change: (before: MessageDraft) => Partial<MessageDraft>): void {
  const before = draftIn(key);
  const draft = { ...before, ...change(before) };
  if (isBlank(draft) && draft.reading === 0) drafts.delete(key);
  else drafts.set(key, draft);
  for (const listener of listeners) listener();
}

/** Calls when anything was changed. */
export function onDraft(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
