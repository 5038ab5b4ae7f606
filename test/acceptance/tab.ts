/**
 * A browser tab that can be closed: it posts a run over a connection of its own, and when it is closed the server is known
 * to have noticed. It says that it sends no more, to which a server answers by letting the connection go.
 */
import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";

/** An open tab. */
export interface Tab {
  /** What came so far. */
  readonly text: string;
  /** Resolves when the text has come; rejects where it does not. */
  seen(text: string): Promise<void>;
  /** Closes the tab. Resolves when the server has let go of it. */
  close(): Promise<void>;
}

/** Opens a tab in which a run is started. */
export async function openTab(url: string, agent: string, input: object): Promise<Tab> {
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  const sent = request(`${url}/agents/${agent}`, { method: "POST", agent: false, headers });
  sent.end(JSON.stringify({ messages: [], protocolVersion: "1.0", ...input }));
  const [answer]: IncomingMessage[] = await once(sent, "response");
  if (answer?.statusCode !== 200) throw new Error(`The tab was answered ${answer?.statusCode}.`);
  const { socket } = answer;
  let received = "";
  answer.setEncoding("utf8").on("data", (chunk: string) => (received += chunk));
  // Whoever closes a tab does not mind that its answer is not whole.
  answer.on("error", () => undefined);
  const over = new Promise((resolve) => answer.once("close", resolve));
  return {
    get text() {
      return received;
    },
    async seen(text) {
      while (!received.includes(text)) {
        if (answer.closed) throw new Error(`The answer ended without ${text}: ${received}`);
        await Promise.race([once(answer, "data"), over]);
      }
    },
    async close() {
      const closed = once(socket, "close");
      socket.end();
      await closed;
    },
  };
}
