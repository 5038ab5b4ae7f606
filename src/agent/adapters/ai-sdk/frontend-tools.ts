/** The frontend's tools as the SDK takes them: declared, and without `execute`, so that their calls are left to it. */
import type { ToolSet } from "ai";
import type { Tool } from "../../../protocol/index.ts";
import { isRecord } from "../provider/fields.ts";
import { loadAi } from "./load-ai.ts";

/** Tools that the model may call and the frontend answers. The SDK is loaded only where there are any. */
export async function frontendTools(tools: readonly Tool[]): Promise<ToolSet> {
  if (tools.length === 0) return {};
  const { jsonSchema } = await loadAi();
  const declared: ToolSet = {};
  for (const { name, description, parameters } of tools) {
    const schema = isRecord(parameters) ? parameters : { type: "object", properties: {} };
    declared[name] = { description, inputSchema: jsonSchema(schema) };
  }
  return declared;
}
