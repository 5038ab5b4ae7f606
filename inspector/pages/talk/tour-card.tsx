/** The guided first conversation: one step at a time, each with what it shows, why that matters, and a button that does it. */
import { useEffect, useRef } from "react";
import type { ReactElement } from "react";
import { useThread } from "heddle/react";
import { linkTo, useQueryValue } from "../../route.ts";
import { Button, IconButton, LinkButton } from "../../ui/button.tsx";
import { useTalk } from "./talk-context.ts";
import type { TourStep } from "./tour.ts";
import type { TourPlace } from "./use-tour.ts";
import "./tour-card.css";

/** A step of the way around. */
export function TourCard({
  steps,
  tour,
}: {
  readonly steps: readonly TourStep[];
  readonly tour: TourPlace;
}): ReactElement | null {
  const { place, next, back, close } = tour;
  const { status, isStarting, interrupts, pendingToolCalls } = useThread();
  const title = useRef<HTMLHeadingElement>(null);
  const at = place?.at ?? 0;
  const first = useRef(at);
  useEffect(() => {
    if (first.current !== at) title.current?.focus();
    first.current = at;
  }, [at]);
  if (place === undefined || steps.length === 0) return null;
  const step = steps[at];
  const isBusy = isStarting || status === "running" || interrupts.length > 0 || pendingToolCalls.length > 0;
  return (
    <section className="talk-tour" aria-label="Show me around">
      <header>
        <span>{step === undefined ? "Show me around" : `Show me around: ${at + 1} of ${steps.length}`}</span>
        <IconButton icon="close" label="End the tour" onClick={close} />
      </header>
      <div className="talk-tour-bar" aria-hidden="true">
        <span style={{ width: `${(Math.min(at, steps.length) / steps.length) * 100}%` }} />
      </div>
      {step === undefined ? (
        <>
          <h2 ref={title} tabIndex={-1}>
            That is it
          </h2>
          <p>Everything you saw works the same with an agent of your own.</p>
          <div className="talk-tour-foot">
            <Button small kind="quiet" onClick={close}>
              Close
            </Button>
            <LinkButton small kind="primary" href={linkTo("connect")} onClick={close}>
              Connect your own
            </LinkButton>
          </div>
        </>
      ) : (
        <>
          <h2 ref={title} tabIndex={-1}>
            {step.title}
          </h2>
          <p>{step.see}</p>
          <p className="talk-tour-why">{step.why}</p>
          <div className="talk-tour-foot">
            {at > 0 && (
              <Button small kind="quiet" onClick={back}>
                Back
              </Button>
            )}
            <Button
              small
              kind={place.isDone ? "primary" : "quiet"}
              disabled={place.isDone && isBusy}
              title={place.isDone && isBusy ? "When the run has ended" : undefined}
              onClick={next}
            >
              {place.isDone ? "Next" : "Skip"}
            </Button>
            <Act key={step.id} step={step} tour={tour} />
          </div>
        </>
      )}
    </section>
  );
}

function Act({ step, tour }: { readonly step: TourStep; readonly tour: TourPlace }): ReactElement | null {
  const { action, showsState } = step;
  const { threadId, edit } = useTalk();
  const [, setAgent] = useQueryValue("agent");
  const [, setState] = useQueryValue("state");
  const { run, status, isStarting, thread, interrupts, pendingToolCalls } = useThread(
    undefined,
    action.kind === "say" ? { agent: action.agent } : {},
  );
  const isBusy = isStarting || status === "running" || interrupts.length > 0 || pendingToolCalls.length > 0;
  if (tour.place?.isDone === true) return null;
  if (action.kind === "look") {
    return (
      <LinkButton small kind="primary" href={linkTo(action.page, threadId)} onClick={tour.done}>
        Show me
      </LinkButton>
    );
  }
  if (action.kind === "edit") {
    const said = thread.messages.findLast(({ role }) => role === "user");
    const begin = (): void => {
      edit(said?.id);
      tour.done();
    };
    return (
      <Button small kind="primary" disabled={isBusy || said === undefined} onClick={begin}>
        Edit my last message
      </Button>
    );
  }
  const speak = (): void => {
    setAgent(action.agent);
    if (showsState === true) setState("open");
    tour.done();
    run(action.text).finished.catch(tour.undo);
  };
  return (
    <Button small kind="primary" className="talk-tour-say" disabled={isBusy} onClick={speak} title={action.text}>
      Say “{action.text}”
    </Button>
  );
}
