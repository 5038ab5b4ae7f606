/**
 * Events of servers that were built to the seed, not to our reading of it.
 *
 * The seed shows what seven events hold, and leaves the others open; ours are asked for in `decodeSessionEvent`. Here
 * whatever the seed leaves open may be missing or different: the form that it would have had is put in its place. What
 * an open `status-update` or `progress-update` says in a form of its own is kept as an event of the application's own.
 * What the seed does show is judged as strictly as ever. An event type that the dialect does not know gives undefined.
 */
import { HeddleError } from "../errors.ts";
import type { JsonLimits } from "../json.ts";
import { SESSION_EVENT_TYPES, TIME_PATTERN } from "./definition.ts";
import type { SessionEvent, SessionEventType } from "./model.ts";
import { sessionCustomName } from "./project-from-session.ts";
import { checkSession } from "./session-check.ts";
import { decodeSessionJson } from "./session-codec.ts";

type Members = Readonly<Record<string, unknown>>;

/** Reads one event. Throws `json-invalid`, `limit-exceeded` or `session-invalid`; undefined: no type of the dialect. */
export function decodeForeignSessionEvent(text: string, limits?: JsonLimits): SessionEvent | undefined {
  const value = decodeSessionJson(text, limits);
  if (!isMembers(value) || typeof value["type"] !== "string") return checkSession("SessionEvent", value);
  const type = SESSION_EVENT_TYPES.find((known) => known === value["type"]);
  if (type === undefined) return undefined;
  const timestamp = timeOf(value["timestamp"]);
  const event = { ...value, sessionId: value["sessionId"] ?? "", timestamp, data: value["data"] ?? {} };
  const inPlace = OPEN[type];
  if (inPlace === undefined) return checkSession("SessionEvent", event);
  const { asType = type, data } = inPlace(event);
  const own = isMembers(event.data) ? withoutNulls(event.data) : {};
  const merged = asType === type ? { ...data, ...own } : own;
  return checked({ ...event, data: merged }) ?? checkSession("SessionEvent", { ...event, type: asType, data });
}

interface InPlace {
  readonly asType?: SessionEventType;
  readonly data: Members;
}

const complete: Members = { isComplete: true };
const calls: InPlace = { data: { toolCallIds: [], ...complete } };
const kept = (event: Members): InPlace => {
  const type = event["type"] === "status-update" ? "status-update" : "progress-update";
  return { asType: "metadata-update", data: { custom: { name: sessionCustomName(type), value: event["data"] } } };
};

/** What stands for the data of the events that the seed leaves open. */
const OPEN: Readonly<Partial<Record<SessionEventType, (event: Members) => InPlace>>> = {
  "session-started": ({ sessionId, timestamp }) => ({
    data: { session: { sessionId, createdAt: timestamp, lastActivityAt: timestamp } },
  }),
  "session-ended": () => ({ data: { reason: "completed" } }),
  "text-message-complete": () => ({ data: { role: "assistant", ...complete } }),
  "tool-call-complete": () => calls,
  "tool-result-complete": () => calls,
  "thought-complete": () => ({ data: complete }),
  "status-update": kept,
  "progress-update": kept,
  "agent-response-complete": () => ({ data: { outcome: "success" } }),
};

function checked(event: unknown): SessionEvent | undefined {
  try {
    return checkSession("SessionEvent", event);
  } catch (error) {
    if (error instanceof HeddleError && error.code === "session-invalid") return undefined;
    throw error;
  }
}

const time = new RegExp(TIME_PATTERN, "u");

/** The time as it stands, put right where it names no zone; now, where it is none. It only informs. */
function timeOf(value: unknown): string {
  if (typeof value === "string" && time.test(value)) return value;
  const parsed = typeof value === "string" ? Date.parse(value) : Number.NaN;
  const written = new Date(Number.isNaN(parsed) ? Date.now() : parsed).toISOString();
  return time.test(written) ? written : new Date().toISOString();
}

function withoutNulls(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
