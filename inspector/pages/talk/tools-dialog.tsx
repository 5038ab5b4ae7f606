/** The tools that whoever sits here offers: a list, and a form for another. */
import { useState } from "react";
import type { FormEvent, ReactElement } from "react";
import { useFrontendTool } from "heddle/react";
import { Button, IconButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { executeByHand, offerTool, readTool, takeBackTool, useOfferedTools } from "./offered-tools.ts";
import type { OfferedTool } from "./offered-tools.ts";
import "../../ui/field.css";
import "./tools-dialog.css";

/** Offers the tools while it is shown. */
export function OfferedTools(): ReactElement {
  const tools = useOfferedTools();
  return (
    <>
      {tools.map((tool) => (
        <Offered key={tool.name} tool={tool} />
      ))}
    </>
  );
}

function Offered({ tool }: { readonly tool: OfferedTool }): null {
  useFrontendTool({ ...tool, handler: (_, call) => executeByHand(call) });
  return null;
}

const BLANK = { name: "", description: "", schema: '{\n  "type": "object",\n  "properties": {}\n}' };

/** The dialog. */
export function ToolsDialog({ onClose }: { readonly onClose: () => void }): ReactElement {
  const tools = useOfferedTools();
  const [written, setWritten] = useState(BLANK);
  const [problem, setProblem] = useState<string>();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const read = readTool(written);
    if ("problem" in read) return setProblem(read.problem);
    offerTool(read);
    setProblem(undefined);
    setWritten(BLANK);
  };
  return (
    <Dialog title="Tools you offer" onClose={onClose}>
      <p className="talk-tools-text">
        Agents that take tools from their client can call these. A call waits in the conversation until you give its
        result. They are kept for this tab.
      </p>
      {tools.length > 0 && (
        <ul className="talk-tools-list">
          {tools.map(({ name, description }) => (
            <li key={name}>
              <div>
                <code>{name}</code>
                <p>{description}</p>
              </div>
              <IconButton icon="trash" label={`Take ${name} back`} onClick={() => takeBackTool(name)} />
            </li>
          ))}
        </ul>
      )}
      <form className="talk-tools-form" onSubmit={submit}>
        <label>
          Name
          <input
            className="field"
            value={written.name}
            placeholder="pick_colour"
            onChange={(event) => setWritten({ ...written, name: event.currentTarget.value })}
          />
        </label>
        <label>
          What it does
          <input
            className="field"
            value={written.description}
            placeholder="Lets the user pick a colour."
            onChange={(event) => setWritten({ ...written, description: event.currentTarget.value })}
          />
        </label>
        <label>
          Arguments, as JSON Schema
          <textarea
            className="field"
            rows={5}
            spellCheck={false}
            value={written.schema}
            onChange={(event) => setWritten({ ...written, schema: event.currentTarget.value })}
          />
        </label>
        {problem !== undefined && <p role="alert">{problem}</p>}
        <Button kind="primary" type="submit">
          Offer this tool
        </Button>
      </form>
    </Dialog>
  );
}
