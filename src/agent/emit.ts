/**
 * How an agent speaks: writers that open and close their events by themselves.
 *
 * A writer opens on its first write and is closed when the run ends, however it ends, so an agent cannot leave
 * a message open. Text only, so far.
 */
import { textMessageContent, textMessageEnd, textMessageStart } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import type { EventQueue } from "./event-queue.ts";

/** What an agent can say. */
export interface Emit {
  /** A new assistant message. Nothing is sent before its first write. */
  text(): TextWriter;
}

/** Writes one text message, piece by piece. */
export interface TextWriter {
  /**
   * Adds text; an empty string adds nothing. The promise resolves when there is room for more: await it wherever
   * the source can wait. Not awaiting is fine for a source that is slower than the log; one that is faster fails
   * its run (`limit-exceeded`) once 16 MiB wait. After the run the promise rejects, and the text goes nowhere.
   */
  write(text: string): Promise<void>;
}

/** An `Emit`, and the way to close what it opened. */
export interface Emitter {
  /** What the agent is given. */
  readonly emit: Emit;
  /** The events that close whatever is open, in the order in which it opened. */
  closing(): readonly Event[];
}

/** Makes the emitter of one run, which writes into the run's queue. */
export function createEmitter(queue: EventQueue): Emitter {
  const open = new Set<string>();

  function text(): TextWriter {
    const messageId = mintMessageId();
    return {
      write(delta) {
        // Built before anything is sent: a value that is no text must not open a message.
        const content = textMessageContent({ messageId, delta, timestamp: Date.now() });
        if (delta === "" || !queue.accepts) return queue.room();
        if (!open.has(messageId)) {
          open.add(messageId);
          void queue.push(textMessageStart({ messageId, role: "assistant", timestamp: Date.now() }));
        }
        return queue.push(content);
      },
    };
  }

  const closing = (): readonly Event[] =>
    Array.from(open, (messageId) => textMessageEnd({ messageId, timestamp: Date.now() }));

  return { emit: { text }, closing };
}

/** Not `crypto.randomUUID`: browsers have that on secure pages only. */
function mintMessageId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `msg_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
