/**
 * Asking a person before a tool runs: approve, deny, or approve with other arguments.
 *
 * The question has the id of the call, and names it as `toolCallId`: the call itself, with its arguments, is in the
 * messages. An answer is `{ approved, editedArgs?, reason? }`; edited arguments replace the model's as a whole.
 */
import { METADATA_KEY } from "../protocol/index.ts";
import type { ToolCall } from "../protocol/index.ts";
import type { ServerTool } from "./define-tool.ts";
import type { InterruptAnswer, InterruptRequest } from "./interrupts.ts";
import type { JsonSchema } from "./schema.ts";
import { failedOutcome } from "./tool-result.ts";
import type { ToolOutcome } from "./tool-result.ts";

/** What a person says to a call. */
export interface Approval {
  /** Whether the tool may run. */
  readonly approved: boolean;
  /** Arguments in place of the model's. */
  readonly editedArgs?: unknown;
  /** Why, for the model. */
  readonly reason?: string;
}

/** The question about a call. */
export function approvalRequest(tool: ServerTool, call: ToolCall): InterruptRequest<Approval> {
  const payload = { functionName: tool.name, functionArguments: readable(call.function.arguments) };
  return {
    id: call.id,
    reason: "tool_call",
    message: `Call ${tool.name}?`,
    toolCallId: call.id,
    responseSchema: responseSchemaFor(tool.parameters),
    metadata: { [METADATA_KEY]: { payload } },
  };
}

/** What an answer means: arguments to run with, none for the model's own, or the result of a call that is not run. */
export function readApproval(
  answer: InterruptAnswer<Approval>,
): { readonly runs: true; readonly editedArgs?: unknown } | { readonly runs: false; readonly outcome: ToolOutcome } {
  if (answer.status === "cancelled") {
    return { runs: false, outcome: failedOutcome("cancelled", "Nobody decided about this call; it was not run.") };
  }
  const { approved, editedArgs, reason = "" } = answer.payload;
  if (approved) return editedArgs === undefined ? { runs: true } : { runs: true, editedArgs };
  const why = reason === "" ? "" : ` They say: ${reason}`;
  return { runs: false, outcome: failedOutcome("denied", `The user denied this call; it was not run.${why}`) };
}

function responseSchemaFor(parameters: JsonSchema): JsonSchema {
  const { $schema: _edition, ...editedArgs } = parameters;
  // References point from the top of a schema, and would lead elsewhere below another one.
  const isMovable = !JSON.stringify(editedArgs).includes('"$ref"');
  return {
    type: "object",
    properties: {
      approved: { type: "boolean" },
      editedArgs: isMovable ? editedArgs : { type: "object" },
      reason: { type: "string" },
    },
    required: ["approved"],
  };
}

/** Argument text as JSON where it is, for people to read. */
function readable(text: string): unknown {
  try {
    return JSON.parse(text) ?? text;
  } catch {
    return text;
  }
}
