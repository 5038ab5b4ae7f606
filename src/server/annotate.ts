/**
 * Annotations: META events that people add to a run at any time, apart from what the run says. They are in the log like any
 * event, and are shown to who asks for them.
 */
import { HeddleError, parseEvent } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { formatCursor } from "../store/index.ts";
import type { Store, ThreadKey } from "../store/index.ts";
import { knownThread } from "./known-thread.ts";
import { isReserved } from "./run-notes.ts";

/** Where an annotation is. */
export interface Annotation {
  /** Its cursor. */
  readonly id: string;
  /** The run that it belongs to. */
  readonly runId: string;
}

/** Largest annotation, in characters of its JSON. */
const MAX_CHARS = 64 * 1024;

/**
 * Adds an annotation from a body that nobody has judged yet: `metaType`, `payload`, and `runId` for another run than the head.
 * `onAdded` is told of it when it is in the log. Throws `input-invalid`, `limit-exceeded`, `thread-unknown` and `run-unknown`.
 */
export async function annotate(
  store: Store,
  key: ThreadKey,
  body: unknown,
  onAdded: (runId: string, event: Event) => void,
): Promise<Annotation> {
  const { metaType, payload, runId, metadata } = readBody(body);
  const thread = await knownThread(store, key);
  const run = runId ?? thread.head;
  if (run === undefined) throw new HeddleError("run-unknown", "The thread has no run yet.", { threadId: key.threadId });
  const { value: event } = judged({ type: "META", metaType, payload, metadata, timestamp: Date.now() });
  const json = JSON.stringify(event);
  if (json.length > MAX_CHARS) {
    const message = `An annotation has at most ${MAX_CHARS} characters as JSON.`;
    throw new HeddleError("limit-exceeded", message, { limit: "annotation", allowed: MAX_CHARS, actual: json.length });
  }
  const { firstSeq } = await store.annotate({ ...key, runId: run, events: [json] });
  if (event !== undefined) onAdded(run, event);
  return { id: formatCursor(thread.logId, firstSeq), runId: run };
}

interface Body {
  readonly metaType: unknown;
  readonly payload: unknown;
  readonly metadata?: unknown;
  readonly runId?: string | undefined;
}

function readBody(body: unknown): Body {
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw refused("", "an object", typeof body);
  const { metaType, payload = {}, metadata, runId }: Partial<Record<keyof Body, unknown>> = { ...body };
  if (typeof metaType === "string" && isReserved(metaType)) {
    throw refused("/metaType", "a type that does not begin with 'heddle.', which is the server's", "one that does");
  }
  if (runId !== undefined && typeof runId !== "string") throw refused("/runId", "the id of a run", typeof runId);
  return { metaType, payload, runId, ...(metadata !== undefined && { metadata }) };
}

/** The same rules as for any event, in the words of an input. */
function judged(event: unknown): ReturnType<typeof parseEvent> {
  try {
    return parseEvent(event);
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== "event-invalid") throw error;
    const { path = "", expected = "", received = "" }: Partial<Record<string, string>> = Object(error.details);
    throw refused(path, expected, received);
  }
}

function refused(path: string, expected: string, received: string): HeddleError {
  const place = path === "" ? "The annotation" : `${path} of the annotation`;
  const message = `${place} is ${received}: expected ${expected}.`;
  return new HeddleError("input-invalid", message, { path, expected, received });
}
