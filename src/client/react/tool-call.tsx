/** A call of a tool and what came of it. */
import type { ReactElement } from "react";
import type { ToolCallProps } from "./slots.ts";
import { textOf } from "./text-of.ts";

/** A call: its name and how it stands, with arguments and result folded away. */
export function ToolCall({ call, result }: ToolCallProps): ReactElement {
  const status = result === undefined ? "pending" : result.error === undefined ? "completed" : "failed";
  const { name, arguments: text } = call.function;
  return (
    <details data-part="tool-call" data-tool={name} data-status={status}>
      <summary>
        {name} <span data-part="tool-status">{status}</span>
      </summary>
      <pre data-part="tool-arguments">{text}</pre>
      {result !== undefined && <pre data-part="tool-result">{textOf(result.content)}</pre>}
    </details>
  );
}
