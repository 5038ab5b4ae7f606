/** Tries an agent at an address on the spot: the server posts it one message, and says what is right and wrong with the answer. */
import { useEffect, useRef, useState } from "react";
import type { FormEvent, ReactElement } from "react";
import { HeddleError } from "heddle/protocol";
import { useQueryValue } from "../../route.ts";
import type { Check } from "../../server/api.ts";
import { useConnection } from "../../server/connection.tsx";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { formatDuration } from "../../ui/format.ts";
import { Icon } from "../../ui/icon.tsx";
import { CheckResult } from "./check-result.tsx";
import "../../ui/field.css";

type Progress =
  | { readonly kind: "idle" }
  | { readonly kind: "busy"; readonly sinceMs: number }
  | { readonly kind: "done"; readonly check: Check }
  | { readonly kind: "failed"; readonly error: HeddleError };

/** The form, and what came of it. */
export function CheckForm(): ReactElement {
  const { server, me } = useConnection();
  const [given, setGiven] = useQueryValue("url");
  const [url, setUrl] = useState(given);
  const [header, setHeader] = useState({ name: "", value: "" });
  const [message, setMessage] = useState("");
  const [progress, setProgress] = useState<Progress>({ kind: "idle" });
  const isBusy = progress.kind === "busy";
  const asking = useRef<AbortController>(undefined);
  const tester = useRef<HTMLButtonElement>(null);
  const giveUp = (): void => {
    asking.current?.abort();
    tester.current?.focus();
  };
  useEffect(() => () => asking.current?.abort(), []);
  if (!me.mayCheck) return <NotAllowed />;
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (isBusy) return;
    const gone = new AbortController();
    asking.current = gone;
    setGiven(url);
    setProgress({ kind: "busy", sinceMs: Date.now() });
    const headers = header.name === "" ? {} : { headers: { [header.name]: header.value } };
    const body = { url, ...headers, ...(message !== "" && { message }) };
    try {
      const check = await server.json<Check>("/checks", { method: "POST", body, signal: gone.signal });
      setProgress({ kind: "done", check });
    } catch (error) {
      if (gone.signal.aborted) setProgress({ kind: "idle" });
      else if (error instanceof HeddleError) setProgress({ kind: "failed", error });
    }
  };
  return (
    <div className="connect-check">
      <form className="connect-form" onSubmit={(event) => void submit(event)}>
        <label className="connect-field" data-wide>
          <span>Address of the agent</span>
          <input
            className="field"
            type="url"
            required
            placeholder="http://127.0.0.1:8000/agui"
            value={url}
            onChange={(event) => setUrl(event.currentTarget.value)}
          />
          <small>This server calls it, so the address counts from where the server runs.</small>
        </label>
        <HeaderFields header={header} onChange={setHeader} />
        <label className="connect-field" data-wide>
          <span>Message (optional)</span>
          <input
            className="field"
            placeholder="Hello"
            maxLength={10_000}
            value={message}
            onChange={(event) => setMessage(event.currentTarget.value)}
          />
        </label>
        <div className="connect-form-actions" data-wide>
          <Button kind="primary" icon="play" type="submit" ref={tester} aria-disabled={isBusy}>
            {isBusy ? "Testing…" : "Test the agent"}
          </Button>
          {isBusy && <Button onClick={giveUp}>Give up</Button>}
        </div>
      </form>
      <div aria-live="polite">
        {progress.kind === "busy" && <Waiting sinceMs={progress.sinceMs} />}
        {progress.kind === "failed" && (
          <p className="connect-refused" role="alert">
            <Icon name="warning" size={16} /> {progress.error.message}
          </p>
        )}
        {progress.kind === "done" && <CheckResult check={progress.check} />}
      </div>
    </div>
  );
}

function HeaderFields({
  header,
  onChange,
}: {
  readonly header: { readonly name: string; readonly value: string };
  readonly onChange: (header: { readonly name: string; readonly value: string }) => void;
}): ReactElement {
  return (
    <>
      <label className="connect-field">
        <span>Header (optional)</span>
        <input
          className="field"
          placeholder="authorization"
          autoComplete="off"
          value={header.name}
          onChange={(event) => onChange({ ...header, name: event.currentTarget.value.trim() })}
        />
      </label>
      <label className="connect-field">
        <span>Its value</span>
        <input
          className="field"
          placeholder="Bearer …"
          autoComplete="off"
          required={header.name !== ""}
          value={header.value}
          onChange={(event) => onChange({ ...header, value: event.currentTarget.value })}
        />
      </label>
    </>
  );
}

function Waiting({ sinceMs }: { readonly sinceMs: number }): ReactElement {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  return (
    <div className="connect-waiting">
      <div className="loading-bar" aria-hidden="true">
        <span />
      </div>
      <p>
        The message was posted; waiting for the answer to end.{" "}
        <span aria-hidden="true">{formatDuration(now - sinceMs)}</span>
      </p>
    </div>
  );
}

function NotAllowed(): ReactElement {
  const { me } = useConnection();
  const why = me.mayOperate
    ? "This server calls no addresses for others. Start it with --checks to allow it, or put the agent behind a Heddle of your own and talk to it."
    : "Testing an address is for operators: the server makes the call. Put the agent behind a Heddle of your own and talk to it, or ask an operator.";
  return (
    <EmptyState icon="key" title="You cannot test addresses here" text={why}>
      <CodeBlock label="A Heddle of your own" code="npx heddle serve --agent mine=http://127.0.0.1:8000/agui" />
    </EmptyState>
  );
}
