/**
 * A client in forty lines, for tests: posts a run, and where the connection ends before the run does, attaches behind the
 * last `id:` that it saw until the run is over. It knows nothing of Heddle's own code.
 */
import { EventSourceParserStream } from "eventsource-parser/stream";

/** One event as it came. */
export interface Frame {
  /** Its cursor; undefined where the frame had none. */
  readonly id: string | undefined;
  /** The event. */
  readonly event: { readonly type: string; readonly [name: string]: unknown };
}

/** The frames of one answer, to its end. Rejects where the connection breaks. */
export async function* framesOf(response: Response): AsyncGenerator<Frame, void, undefined> {
  const text = response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  for await (const { id, data } of text ?? []) if (data !== "") yield { id, event: JSON.parse(data) };
}

/** Posts a run. */
export const postRun = (url: string, agent: string, input: object, init: RequestInit = {}): Promise<Response> =>
  fetch(`${url}/agents/${agent}`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify({ messages: [], protocolVersion: "1.0", ...input }),
    ...init,
  });

/** Attaches to a run behind a cursor, or from its beginning. */
export const attachTo = (url: string, threadId: string, runId: string, after?: string): Promise<Response> =>
  fetch(`${url}/threads/${encodeURIComponent(threadId)}/events?run=${encodeURIComponent(runId)}`, {
    headers: { accept: "text/event-stream", ...(after !== undefined && { "last-event-id": after }) },
  });

const isTerminal = ({ event: { type } }: Frame): boolean => type === "RUN_FINISHED" || type === "RUN_ERROR";

/** Every event of a run once, however often the connection is cut. `onCut` is told of each cut. */
export async function* follow(
  open: () => Promise<Response>,
  again: (after: string | undefined) => Promise<Response>,
  onCut: (error: unknown) => void = () => undefined,
): AsyncGenerator<Frame, void, undefined> {
  let after: string | undefined;
  let connect = open;
  for (let over = false; !over; connect = () => again(after)) {
    try {
      for await (const frame of framesOf(await connect())) {
        after = frame.id ?? after;
        over = isTerminal(frame);
        yield frame;
      }
    } catch (error) {
      onCut(error);
    }
  }
}
