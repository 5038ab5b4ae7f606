/** The lines for clients: whoever talks to the agents of this server. */
import type { Place, Snippet } from "./snippets.ts";

/** What stands in place of a token. */
export const TOKEN = "YOUR_TOKEN";

const token = ({ authenticated }: Place): string => (authenticated ? `, { token: "${TOKEN}" }` : "");
const headers = ({ authenticated }: Place): string =>
  authenticated ? `\n  headers: { authorization: "Bearer ${TOKEN}" },` : "";

/** Clients. */
export const CLIENT_SNIPPETS: readonly Snippet[] = [
  {
    id: "client",
    title: "heddle/client",
    text: "For pages and for Node. Reconnects by itself after any cut, and gives every event once.",
    shell: "npm install heddle",
    files: [
      {
        name: "talk.ts",
        code: (place) => `import { connect } from "heddle/client";

const client = connect("${place.url}"${token(place)});
const thread = client.thread(crypto.randomUUID());
const run = thread.run("${place.agent}", "Hello");
for await (const event of run) {
  if (event.type === "TEXT_MESSAGE_CONTENT") console.log(event.delta);
}
console.log((await run.finished).status, thread.messages.length, "messages");
client.close();
`,
      },
    ],
  },
  {
    id: "react",
    title: "heddle/react",
    text: "Hooks and unstyled parts: messages, composer, approvals, branches. Several tabs show the same, word by word.",
    shell: "npm install heddle react react-dom",
    files: [
      {
        name: "chat.tsx",
        code: (place) => `import { Approvals, Composer, HeddleProvider, MessageList, ThreadRoot } from "heddle/react";

export function Chat({ id }: { id: string }) {
  return (
    <HeddleProvider url="${place.url}"${place.authenticated ? ` token="${TOKEN}"` : ""}>
      <ThreadRoot id={id} agent="${place.agent}">
        <MessageList empty="Say something." />
        <Approvals />
        <Composer />
      </ThreadRoot>
    </HeddleProvider>
  );
}
`,
      },
    ],
  },
  {
    id: "ag-ui",
    title: "@ag-ui/client",
    text: "AG-UI's own client, as it is: this server is a standard AG-UI endpoint for each agent.",
    shell: "npm install @ag-ui/client",
    files: [
      {
        name: "stock.ts",
        code: (place) => `import { HttpAgent } from "@ag-ui/client";

const agent = new HttpAgent({
  url: "${place.url}/agents/${place.agent}",${headers(place)}
});
agent.addMessage({ id: crypto.randomUUID(), role: "user", content: "Hello" });
const { newMessages } = await agent.runAgent();
console.log(newMessages.at(-1)?.content);
`,
      },
    ],
  },
  {
    id: "resumable",
    title: "@ag-ui/client, resumable",
    text: "The same client with a fetch that survives cuts: the answer goes on at the exact event where it broke off.",
    shell: "npm install @ag-ui/client heddle",
    files: [
      {
        name: "resumable.ts",
        code: (place) => `import { HttpAgent } from "@ag-ui/client";
import { resumableFetch } from "heddle/client";

const agent = new HttpAgent({
  url: "${place.url}/agents/${place.agent}",${headers(place)}
  fetch: resumableFetch("${place.url}"${token(place)}),
});
agent.addMessage({ id: crypto.randomUUID(), role: "user", content: "Hello" });
const { newMessages } = await agent.runAgent();
console.log(newMessages.at(-1)?.content);
`,
      },
    ],
  },
  {
    id: "copilotkit",
    title: "CopilotKit",
    text:
      "CopilotKit's React chat, straight to this server with AG-UI's HttpAgent, without a runtime of theirs between. " +
      "They name the property for development only; a conversation comes back after a reload with Heddle's own client, not here.",
    shell: "npm install @copilotkit/react-core @ag-ui/client@0.0.59",
    files: [
      {
        name: "copilot.tsx.txt",
        code: (place) => `import { HttpAgent } from "@ag-ui/client";
import { CopilotChat, CopilotKitProvider } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";

const agent = new HttpAgent({
  url: "${place.url}/agents/${place.agent}",${headers(place)}
});

export function Copilot() {
  return (
    <CopilotKitProvider agents__unsafe_dev_only={{ default: agent }} enableInspector={false}>
      <CopilotChat />
    </CopilotKitProvider>
  );
}
`,
      },
    ],
  },
  {
    id: "curl",
    title: "curl",
    text: "Start a run and watch it. Interrupt it, and come back with the id of the last event that you saw.",
    files: [
      {
        name: "run.sh",
        code: (place) => `curl -N ${place.url}/agents/${place.agent} \\
${place.authenticated ? `  -H 'authorization: Bearer ${TOKEN}' \\\n` : ""}  -H 'content-type: application/json' \\
  -d '{"threadId":"my-thread","runId":"run-1","messages":[{"id":"m1","role":"user","content":"Hello"}]}'
`,
      },
      {
        name: "again.sh",
        code: (place) => `curl -N '${place.url}/threads/my-thread/events?run=run-1&after=LAST_EVENT_ID'${
          place.authenticated ? ` \\\n  -H 'authorization: Bearer ${TOKEN}'` : ""
        }
`,
      },
    ],
  },
  {
    id: "fetch",
    title: "fetch and EventSource",
    text: "Without any package. fetch starts the run; EventSource follows the conversation, and comes back by itself where it was cut.",
    files: [
      {
        name: "start.ts",
        code: (place) => `const threadId = crypto.randomUUID();
const response = await fetch("${place.url}/agents/${place.agent}", {
  method: "POST",
  headers: { "content-type": "application/json"${place.authenticated ? `, authorization: "Bearer ${TOKEN}"` : ""} },
  body: JSON.stringify({
    threadId,
    runId: crypto.randomUUID(),
    messages: [{ id: crypto.randomUUID(), role: "user", content: "Hello" }],
  }),
});
console.log(await response.text()); // Server-Sent Events; response.body streams them
`,
      },
      {
        name: "follow.js",
        code: (place) =>
          place.authenticated
            ? `// A page cannot send headers with EventSource: a ticket, good once within 30 seconds, stands for the token.
const headers = { authorization: "Bearer ${TOKEN}" };
const { ticket } = await (await fetch("${place.url}/tickets", { method: "POST", headers })).json();
const source = new EventSource(\`${place.url}/threads/my-thread/events?ticket=\${ticket}\`);
source.onmessage = ({ data, lastEventId }) => console.log(lastEventId, JSON.parse(data));
`
            : `const source = new EventSource("${place.url}/threads/my-thread/events");
source.onmessage = ({ data, lastEventId }) => console.log(lastEventId, JSON.parse(data));
`,
      },
    ],
  },
  {
    id: "websocket",
    title: "WebSocket",
    text: "One socket for any number of conversations, subprotocol heddle.v1. Each frame has the id to come back after.",
    files: [
      {
        name: "socket.ts",
        code: (place) => `${
          place.authenticated
            ? `const headers = { authorization: "Bearer ${TOKEN}" };
const { ticket } = await (await fetch("${place.url}/tickets", { method: "POST", headers })).json();
const socket = new WebSocket(\`${place.url.replace(/^http/, "ws")}/ws?ticket=\${ticket}\`, "heddle.v1");
`
            : `const socket = new WebSocket("${place.url.replace(/^http/, "ws")}/ws", "heddle.v1");
`
        }socket.onopen = () => {
  const messages = [{ id: crypto.randomUUID(), role: "user", content: "Hello" }];
  const input = { threadId: crypto.randomUUID(), runId: crypto.randomUUID(), messages };
  socket.send(JSON.stringify({ type: "run", agent: "${place.agent}", input }));
};
socket.onmessage = ({ data }) => {
  const frame = JSON.parse(String(data));
  if (frame.type === "event" && frame.event.type === "TEXT_MESSAGE_CONTENT") console.log(frame.event.delta);
  if (frame.type === "ended") socket.close();
};
`,
      },
    ],
  },
  {
    id: "python",
    title: "Python",
    text: "Any HTTP client will do; this one is httpx. Each line of data is one AG-UI event. (Not run by our tests.)",
    shell: "pip install httpx",
    files: [
      {
        name: "talk.py",
        code: (place) => `import json
import uuid

import httpx

body = {
    "threadId": str(uuid.uuid4()),
    "runId": str(uuid.uuid4()),
    "messages": [{"id": str(uuid.uuid4()), "role": "user", "content": "Hello"}],
}
headers = {${place.authenticated ? `"Authorization": "Bearer ${TOKEN}"` : ""}}
with httpx.stream("POST", "${place.url}/agents/${place.agent}", json=body, headers=headers, timeout=None) as response:
    response.raise_for_status()
    for line in response.iter_lines():
        if line.startswith("data: "):
            event = json.loads(line[6:])
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                print(event["delta"], end="", flush=True)
`,
      },
    ],
  },
];
