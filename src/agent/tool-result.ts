/** What a call comes to: a result that a model can read, whether the tool returned or failed. */
import { HeddleError } from "../protocol/index.ts";
import type { ContentPart, ErrorCode, Metadata } from "../protocol/index.ts";

/** The result of a call. */
export interface ToolOutcome {
  /** For the model. */
  readonly content: string | readonly ContentPart[];
  /** Why the call failed. */
  readonly error?: string;
  /** What kind of failure it was. */
  readonly code?: ErrorCode | "denied" | "cancelled";
  /** Extra information, open by key. */
  readonly metadata?: Metadata;
}

/** The result of a call that did not work out. */
export const failedOutcome = (code: NonNullable<ToolOutcome["code"]>, error: string): ToolOutcome => ({
  content: `Error (${code}): ${error}`,
  error,
  code,
});

/** The result that a tool returned. Throws `tool-failed` where it cannot be written down. */
export function outcomeOf(name: string, value: unknown): ToolOutcome {
  if (typeof value === "string") return { content: value };
  if (value === undefined) return { content: "" };
  if (isParts(value)) return { content: value };
  const text: unknown = JSON.stringify(value);
  if (typeof text === "string") return { content: text };
  throw new HeddleError("tool-failed", `The tool ${name} returned a ${typeof value}: return text, parts or JSON.`, {
    tool: name,
  });
}

const MEDIA = ["image", "audio", "video", "document"];

const isParts = (value: unknown): value is readonly ContentPart[] =>
  Array.isArray(value) && value.length > 0 && value.every(isPart);

/** Whether a value has the form of a content part; anything else in a list makes it plain JSON. */
function isPart(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !("type" in value)) return false;
  if (value.type === "text") return "text" in value && typeof value.text === "string";
  if (!MEDIA.includes(String(value.type)) || !("source" in value)) return false;
  const { source } = value;
  return typeof source === "object" && source !== null && "type" in source && "value" in source;
}
