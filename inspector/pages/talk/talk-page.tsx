/**
 * Talk: a conversation with any agent of the server. What is looked at stands in the address: the agent, and whether the shared
 * state is open beside.
 */
import { useMemo, useState } from "react";
import type { ReactElement } from "react";
import type { AgentInfo } from "heddle/client";
import { ThreadRoot, useThread } from "heddle/react";
import type { ThreadPageProps } from "../../app.tsx";
import { linkTo, useQueryValue } from "../../route.ts";
import { useConnection } from "../../server/connection.tsx";
import { useAgents } from "../../server/use-agents.ts";
import { ThreadHeader } from "../../shell/thread-header.tsx";
import { Button, LinkButton } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorState } from "../../ui/error-state.tsx";
import { Loading } from "../../ui/loading.tsx";
import { titleOf } from "./agent-info.ts";
import { chooseAgent } from "./choose-agent.ts";
import { Composer } from "./composer.tsx";
import { Conversation } from "./conversation.tsx";
import { ConnectionNotice, MissingAgentNotice, RunNotice, RunProgress, useIsGone } from "./notices.tsx";
import { useOfferedTools } from "./offered-tools.ts";
import { PendingCalls } from "./pending-calls.tsx";
import { Questions } from "./question-card.tsx";
import { StatePanel } from "./state-panel.tsx";
import { TalkContext, useTalk } from "./talk-context.ts";
import { OfferedTools, ToolsDialog } from "./tools-dialog.tsx";
import { TourCard } from "./tour-card.tsx";
import { tourOf } from "./tour.ts";
import { useFacts } from "./use-facts.ts";
import type { Facts } from "./use-facts.ts";
import { useTitle } from "./use-title.ts";
import { useKeptFocus } from "./use-kept-focus.ts";
import { useTour } from "./use-tour.ts";
import { Welcome } from "./welcome.tsx";
import "./talk-page.css";

const READ_ONLY = "You may read this conversation, but not write in it.";
const NO_AGENTS = "This server has no agents: the conversation can be read, and nothing said in it.";
const GONE = "This conversation was deleted: nothing more can be said in it.";

/** The page. */
export function TalkPage({ threadId }: ThreadPageProps): ReactElement {
  const { me } = useConnection();
  const { connection } = useThread(threadId);
  const facts = useFacts(threadId);
  useTitle(threadId);
  const { agents, error, retry } = useAgents(connection !== "reconnecting");
  const [asked] = useQueryValue("agent");
  const choice = chooseAgent(agents ?? [], asked, facts.lastAgent);
  const agent = agents === undefined || !facts.isKnown ? undefined : choice.agent;
  const [editing, edit] = useState<string>();
  const isGone = useIsGone(threadId);
  const hasAgents = agents === undefined || agents.length > 0;
  const mayWrite = me.mayStart && facts.role !== "observer";
  const readOnly = isGone ? GONE : !mayWrite ? READ_ONLY : hasAgents ? undefined : NO_AGENTS;
  const name = agent?.name;
  const asker = agents?.find((each) => each.name === facts.lastAgent)?.name ?? name;
  const talk = useMemo(
    () => ({ threadId, agent: name, asker, readOnly, facts, editing, edit }),
    [threadId, name, asker, readOnly, facts, editing],
  );
  return (
    <TalkContext.Provider value={talk}>
      <ThreadRoot id={threadId} {...(name !== undefined && { agent: name })} className="talk">
        <OfferedTools />
        <Head threadId={threadId} facts={facts} />
        <ConnectionNotice />
        {error !== undefined && agents === undefined && (
          <ErrorState title="The agents cannot be listed" error={error} onRetry={retry} />
        )}
        {agents === undefined && error === undefined && <Loading label="Opening the conversation" />}
        {agents !== undefined && (
          <Room
            agents={agents}
            agent={agent}
            missing={facts.isKnown && hasAgents ? choice.missing : undefined}
            facts={facts}
          />
        )}
      </ThreadRoot>
    </TalkContext.Provider>
  );
}

function Head({ threadId, facts }: { readonly threadId: string; readonly facts: Facts }): ReactElement {
  const { status, newest, pendingToolCalls } = useThread();
  const [state, setState] = useQueryValue("state");
  const isOpen = state === "open";
  return (
    <ThreadHeader
      threadId={threadId}
      page="Talk"
      title={facts.title}
      isNew={facts.isKnown && newest.runId === undefined}
      status={pendingToolCalls.length > 0 ? "interrupted" : newest.runId === undefined ? undefined : status}
    >
      <Button small icon="state" aria-pressed={isOpen} onClick={() => setState(isOpen ? "" : "open")}>
        State
      </Button>
    </ThreadHeader>
  );
}

function NoAgents(): ReactElement {
  return (
    <EmptyState
      icon="agent"
      title="This server has no agents"
      text="Start it with an agent of yours, or put it in front of one that runs elsewhere."
    >
      <LinkButton kind="primary" href={linkTo("connect")}>
        Connect an agent
      </LinkButton>
    </EmptyState>
  );
}

interface RoomProps {
  readonly agents: readonly AgentInfo[];
  readonly agent: AgentInfo | undefined;
  readonly missing: string | undefined;
  readonly facts: Facts;
}

function Room({ agents, agent, missing, facts }: RoomProps): ReactElement {
  const { thread } = useThread();
  const { readOnly } = useTalk();
  const [state, setState] = useQueryValue("state");
  const tour = useTour(thread.id);
  const steps = useMemo(() => tourOf(agents), [agents]);
  const { messageIds } = useThread();
  // Who may not write cannot do what the tour proposes.
  const isTouring = readOnly === undefined && tour.place !== undefined && steps.length > 0;
  const isStateOpen = state === "open";
  const room = useKeptFocus();
  const [isTooling, setTooling] = useState(false);
  const onTour = isTouring || readOnly !== undefined ? undefined : () => tour.begin(messageIds.length === 0);
  return (
    <div ref={room} className="talk-room" data-side={isTouring || isStateOpen}>
      <div className="talk-main">
        {missing !== undefined && <MissingAgentNotice missing={missing} instead={agent?.name} />}
        <Conversation
          empty={
            agents.length === 0 && facts.isKnown ? (
              <NoAgents />
            ) : (
              <Nothing agent={agent} isKnown={facts.isKnown} onTour={onTour} />
            )
          }
        >
          <RunProgress />
          <RunNotice />
          <Questions />
          <PendingCalls />
        </Conversation>
        <Composer>
          <AgentChoice agents={agents} agent={agent} />
          <ToolsButton onOpen={() => setTooling(true)} />
        </Composer>
        {isTooling && <ToolsDialog onClose={() => setTooling(false)} />}
      </div>
      {(isTouring || isStateOpen) && (
        <div className="talk-side" data-state={isStateOpen}>
          {isTouring && <TourCard steps={steps} tour={tour} />}
          {isStateOpen && <StatePanel onClose={() => setState("")} />}
        </div>
      )}
    </div>
  );
}

function Nothing({
  agent,
  isKnown,
  onTour,
}: {
  readonly agent: AgentInfo | undefined;
  readonly isKnown: boolean;
  readonly onTour: (() => void) | undefined;
}): ReactElement | null {
  const { status, isStarting } = useThread();
  if (!isKnown) return <Loading label="Opening the conversation" />;
  return agent === undefined || isStarting || status === "running" ? null : <Welcome agent={agent} onTour={onTour} />;
}

function AgentChoice({
  agents,
  agent,
}: {
  readonly agents: readonly AgentInfo[];
  readonly agent: AgentInfo | undefined;
}): ReactElement {
  const [, setAgent] = useQueryValue("agent");
  return (
    <select
      className="talk-choice"
      aria-label="Agent"
      title={agent?.capabilities.identity?.description ?? "Who answers"}
      value={agent?.name ?? ""}
      onChange={(event) => setAgent(event.currentTarget.value)}
    >
      {agent === undefined && (
        <option value="" disabled>
          {agents.length === 0 ? "Agents…" : "Choose an agent"}
        </option>
      )}
      {agents.map((each) => (
        <option key={each.name} value={each.name}>
          {titleOf(each)}
        </option>
      ))}
    </select>
  );
}

function ToolsButton({ onOpen }: { readonly onOpen: () => void }): ReactElement {
  const { length } = useOfferedTools();
  return (
    <Button small kind="quiet" icon="tool" title="Tools that you offer to agents" onClick={onOpen}>
      {length === 0 ? "Tools" : `${length} ${length === 1 ? "tool" : "tools"}`}
    </Button>
  );
}
