/** Argument text of a tool call, as the session dialect shows arguments: parsed where that can be. */
import { decodeJson } from "../json.ts";
import type { ToolCall } from "./model.ts";

/** No text means no arguments. Text that cannot be parsed is kept as it is. */
export function parseArguments(text: string): Pick<ToolCall, "arguments" | "argumentsText"> {
  if (text.trim() === "") return { arguments: {} };
  try {
    return { arguments: decodeJson(text) };
  } catch {
    return { arguments: null, argumentsText: text };
  }
}
