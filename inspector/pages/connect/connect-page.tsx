/**
 * The page Connect your own: the few lines for each client and framework with this server's address filled in, and a form that
 * tries an agent elsewhere. What is shown stands in the address.
 */
import type { ReactElement } from "react";
import type { HeddleError } from "heddle/protocol";
import { linkTo, useQueryValue, useRoute } from "../../route.ts";
import { useConnection } from "../../server/connection.tsx";
import { useAgents } from "../../server/use-agents.ts";
import { PageHeader } from "../../shell/page-header.tsx";
import { CodeBlock } from "../../ui/code-block.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Loading } from "../../ui/loading.tsx";
import { CheckForm } from "./check-form.tsx";
import { SNIPPETS } from "./snippets.ts";
import type { Place, Snippet } from "./snippets.ts";
import "../../ui/field.css";
import "./connect-page.css";

/** The tabs, by what stands in the address. */
const TABS = { use: "Clients", build: "Agents", test: "Test an agent" } as const;

type Tab = keyof typeof TABS;

const isTab = (text: string): text is Tab => Object.hasOwn(TABS, text);

/** The page. */
export function ConnectPage(): ReactElement {
  const { query } = useRoute();
  const asked = query["tab"] ?? "";
  const tab = isTab(asked) ? asked : "use";
  return (
    <>
      <PageHeader title="Connect your own" text="Your page, program or agent, in a few lines." />
      <nav className="connect-tabs" aria-label="What to connect">
        {Object.entries(TABS).map(([name, title]) => (
          <a
            key={name}
            href={linkTo("connect", undefined, { tab: name, agent: query["agent"] })}
            aria-current={name === tab ? "page" : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      <div className="page-body">{tab === "test" ? <CheckForm /> : <Snippets key={tab} tab={tab} />}</div>
    </>
  );
}

function Snippets({ tab }: { readonly tab: "use" | "build" }): ReactElement {
  const { server, me } = useConnection();
  const { query } = useRoute();
  const { agents, error, retry } = useAgents();
  const [asked] = useQueryValue("agent");
  const names = (agents ?? []).map(({ name }) => name);
  const agent = names.includes(asked) ? asked : (names[0] ?? (asked || "assistant"));
  const all = SNIPPETS[tab];
  const shown = all.find(({ id }) => id === query["with"]) ?? all[0];
  const place: Place = { url: server.url, agent, authenticated: me.authenticated };
  return (
    <div className="connect-snippets">
      <nav className="connect-choices" aria-label={tab === "use" ? "Clients" : "Frameworks"}>
        {all.map(({ id, title }) => (
          <a
            key={id}
            href={linkTo("connect", undefined, { tab, with: id, agent: query["agent"] })}
            aria-current={id === shown?.id ? "true" : undefined}
            ref={id === shown?.id ? bringIntoView : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      <div className="connect-shown">
        {tab === "use" && agents === undefined ? (
          // Lines with the name of another agent in them would not work.
          <Unknown error={error} onRetry={retry} />
        ) : (
          <>
            {tab === "use" && <AgentChoice names={names} agent={agent} />}
            {shown !== undefined && <Shown snippet={shown} place={place} />}
          </>
        )}
      </div>
    </div>
  );
}

/** On narrow screens the choices are a strip: the one that is shown is in sight. */
function bringIntoView(choice: HTMLElement | null): void {
  choice?.scrollIntoView({ block: "nearest", inline: "center" });
}

function Shown({ snippet, place }: { readonly snippet: Snippet; readonly place: Place }): ReactElement {
  const { title, text, shell, files } = snippet;
  const hasToken = files.some(({ code }) => code(place).includes("YOUR_TOKEN"));
  return (
    <section className="connect-snippet" aria-label={title}>
      <h2>{title}</h2>
      <p>{text}</p>
      {shell !== undefined && <CodeBlock label="Shell" code={shell} />}
      {files.map(({ name, code }) => (
        <CodeBlock key={name} label={name.replace(/\.txt$/, "")} code={code(place).trimEnd()} />
      ))}
      {hasToken && (
        <p className="connect-note">
          This server asks for a token: put one in place of <code>YOUR_TOKEN</code>, from your own sign-in, never in
          code that others see.
        </p>
      )}
    </section>
  );
}

function Unknown({
  error,
  onRetry,
}: {
  readonly error: HeddleError | undefined;
  readonly onRetry: () => void;
}): ReactElement {
  if (error === undefined) return <Loading label="Asking for the agents of this server" />;
  return <ErrorState title="The agents cannot be listed" error={error} onRetry={onRetry} />;
}

function AgentChoice({ names, agent }: { readonly names: readonly string[]; readonly agent: string }): ReactElement {
  const [, setAgent] = useQueryValue("agent");
  return (
    <label className="connect-agent">
      <span>Agent</span>
      <select className="field" value={agent} onChange={(event) => setAgent(event.currentTarget.value)}>
        {(names.length === 0 ? [agent] : names).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}
