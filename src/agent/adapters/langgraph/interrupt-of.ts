/**
 * A question of a graph as AG-UI asks it. The graph's own value is kept whole in the metadata, since only the application
 * knows how to show it; a text in it that is meant for people becomes the message.
 */
import type { Interrupt } from "../../../protocol/index.ts";
import { isRecord } from "../provider/fields.ts";
import { ISSUER } from "./issuer.ts";

const WORDS = ["message", "question", "prompt", "description"] as const;

/** The interrupt of AG-UI; the id is the graph's, by which it is resumed. */
export function interruptOf(asked: unknown, fallbackId: string): Interrupt {
  const { id, value } = isRecord(asked) ? asked : { id: undefined, value: asked };
  const fields = isRecord(value) ? value : {};
  const message = typeof value === "string" ? value : WORDS.map((word) => fields[word]).find(isText);
  const toolCallId = [fields["toolCallId"], fields["tool_call_id"]].find(isText);
  const { responseSchema } = fields;
  return {
    id: isText(id) ? id : fallbackId,
    reason: `${ISSUER}:interrupt`,
    ...(message === undefined ? {} : { message }),
    ...(toolCallId === undefined ? {} : { toolCallId }),
    ...(isRecord(responseSchema) ? { responseSchema } : {}),
    metadata: { [ISSUER]: { value: value ?? null } },
  };
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
