/** An empty conversation: who answers, what they can do, and what they propose to say. All of it is the agent's own. */
import type { ReactElement } from "react";
import type { AgentInfo } from "heddle/client";
import { useThread } from "heddle/react";
import { Icon } from "../../ui/icon.tsx";
import { abilitiesOf, examplesOf, purposeOf, titleOf } from "./agent-info.ts";
import { useTalk } from "./talk-context.ts";
import "./welcome.css";

/** What there is to know before the first word. */
export function Welcome({
  agent,
  onTour,
}: {
  readonly agent: AgentInfo;
  readonly onTour: (() => void) | undefined;
}): ReactElement {
  const { run } = useThread();
  const { readOnly } = useTalk();
  const abilities = abilitiesOf(agent);
  const examples = readOnly === undefined ? examplesOf(agent) : [];
  return (
    <section className="talk-welcome" aria-label={`About ${titleOf(agent)}`}>
      <span className="talk-welcome-icon">
        <Icon name="agent" size={26} />
      </span>
      <h2>{titleOf(agent)}</h2>
      <p>{purposeOf(agent) ?? "Say something to see what it answers."}</p>
      {abilities.length > 0 && (
        <ul className="talk-abilities" aria-label="What it can do">
          {abilities.map((words) => (
            <li key={words}>{words}</li>
          ))}
        </ul>
      )}
      {examples.length > 0 && (
        <ul className="talk-examples" aria-label="Things to say">
          {examples.map((text) => (
            <li key={text}>
              <button type="button" onClick={() => run(text)}>
                {text}
                <Icon name="send" size={16} />
              </button>
            </li>
          ))}
        </ul>
      )}
      {onTour !== undefined && (
        <button type="button" className="talk-tour-link" onClick={onTour}>
          New here? Show me around
        </button>
      )}
    </section>
  );
}
