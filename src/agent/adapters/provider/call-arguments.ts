/** The argument text of a call as providers take it back: a JSON object, whatever the model wrote. */
import { parseRecord } from "./fields.ts";
import type { Block } from "./opaque.ts";

/** The arguments as an object. Text that is none stands under `INVALID_JSON`, as Anthropic documents it. */
export function callArguments(text: string): Block {
  return text.trim() === "" ? {} : (parseRecord(text) ?? { INVALID_JSON: text });
}

/** The arguments as the text of an object; what is one already is left as the model wrote it. */
export function callArgumentText(text: string): string {
  return parseRecord(text) === undefined ? JSON.stringify(callArguments(text)) : text;
}
