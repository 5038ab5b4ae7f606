/**
 * CopilotKit's runtime on its own endpoints over `node:http`, with its runner in memory, as a process of its own. Its agent
 * says what ours says, in its own way: an observable that gives events, 16 a turn.
 */
import { createServer } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { AbstractAgent, EventType } from "@ag-ui/client";
import type { BaseEvent, RunAgentInput } from "@ag-ui/client";
import { CopilotRuntime } from "@copilotkit/runtime/v2";
import { createCopilotNodeListener } from "@copilotkit/runtime/v2/node";
import { Observable } from "rxjs";
import { answerParent, listening } from "../answer-parent.ts";
import { PER_TURN, orderOf, word } from "../workloads.ts";

class Words extends AbstractAgent {
  override run({ threadId, runId, forwardedProps }: RunAgentInput): Observable<BaseEvent> {
    const { deltas } = orderOf(forwardedProps);
    return new Observable<BaseEvent>((observer) => {
      const say = async (): Promise<void> => {
        const messageId = crypto.randomUUID();
        const tell = (type: EventType, members: object): void =>
          observer.next({ type, timestamp: Date.now(), ...members });
        tell(EventType.RUN_STARTED, { threadId, runId });
        tell(EventType.TEXT_MESSAGE_START, { messageId, role: "assistant" });
        for (let index = 0; index < deltas; index++) {
          tell(EventType.TEXT_MESSAGE_CONTENT, { messageId, delta: word(index) });
          if (index % PER_TURN === PER_TURN - 1) await nextTurn();
        }
        tell(EventType.TEXT_MESSAGE_END, { messageId });
        tell(EventType.RUN_FINISHED, { threadId, runId });
        observer.complete();
      };
      say().catch((error: unknown) => observer.error(error));
    });
  }
}

const runtime = new CopilotRuntime({ agents: { words: new Words() } });
const server = createServer(createCopilotNodeListener({ runtime, basePath: "/" }));
answerParent(await listening(server), {});
