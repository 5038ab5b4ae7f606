/**
 * What is being written in a conversation: a text and files. What was taken to be sent and was refused comes back, unless
 * something else was written meanwhile.
 */
import { useMemo, useSyncExternalStore } from "react";
import { person } from "../../server/person.ts";
import { say, sayFailure } from "../../ui/toast.tsx";
import { attachmentOf, bytesOf, refusalOf } from "./attachments.ts";
import { changeDraft, draftIn, isBlank, onDraft } from "./drafts.ts";
import type { MessageDraft } from "./drafts.ts";

/** What changes it. */
export interface DraftActions {
  readonly setText: (text: string) => void;
  readonly add: (files: Iterable<File>) => void;
  readonly remove: (key: string) => void;
  /** Empties it; the function that it gives puts back what was there. */
  readonly take: () => () => void;
}

/** What is being written in a conversation. */
export function useDraft(threadId: string): MessageDraft & DraftActions {
  // Whoever signs in after somebody does not see what they wrote, in a conversation of the same name neither.
  const key = JSON.stringify([person(), threadId]);
  const draft = useSyncExternalStore(onDraft, () => draftIn(key));
  const actions = useMemo(() => actionsOf(key), [key]);
  return { ...draft, ...actions };
}

const actionsOf = (draft: string): DraftActions => ({
  setText: (text) => changeDraft(draft, () => ({ text })),
  add: (files) => {
    const taken: File[] = [];
    let heldBytes = bytesOf(draftIn(draft).attachments);
    for (const file of files) {
      const refusal = refusalOf(file, heldBytes);
      if (refusal !== undefined) {
        say(refusal, { failure: true });
        continue;
      }
      taken.push(file);
      heldBytes += file.size;
    }
    void read(draft, taken);
  },
  remove: (key) =>
    changeDraft(draft, ({ attachments }) => ({ attachments: attachments.filter((each) => each.key !== key) })),
  take: () => {
    const { text, attachments } = draftIn(draft);
    changeDraft(draft, () => ({ text: "", attachments: [] }));
    return () => changeDraft(draft, (now) => (isBlank(now) ? { text, attachments } : {}));
  },
});

/** Never rejects. */
async function read(draft: string, files: readonly File[]): Promise<void> {
  changeDraft(draft, ({ reading }) => ({ reading: reading + files.length }));
  for (const result of await Promise.allSettled(files.map(attachmentOf))) {
    changeDraft(draft, ({ attachments, reading }) => ({
      reading: reading - 1,
      ...(result.status === "fulfilled" && { attachments: [...attachments, result.value] }),
    }));
    if (result.status === "rejected") sayFailure(result.reason);
  }
}
