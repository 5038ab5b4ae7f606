/**
 * A chat in one page: threads that survive reloads and restarts, approval, branches, shared state, a tool of its own.
 *
 * `npm start` starts agents, `npx esbuild examples/react/app.tsx --bundle --servedir=examples/react --outdir=examples/react`
 * this page. `?thread=`, `?agent=` and `?server=` in its address say what is shown.
 */
import { createRoot } from "react-dom/client";
import { Approvals, BranchSwitcher, Composer, HeddleProvider, MessageList, ThreadRoot } from "heddle/react";
import { useFrontendTool, useRun, useSharedState, useThread, useThreads } from "heddle/react";
import type { MessageSlotProps } from "heddle/react";

const query = Object.fromEntries(new URLSearchParams(location.search));
const { server = "http://localhost:5000", thread = "first", agent = "chat" } = query;

function Sidebar() {
  const { threads = [] } = useThreads();
  const links = threads.map(({ threadId, title = threadId }) => (
    <a key={threadId} href={`?${new URLSearchParams({ ...query, thread: threadId })}`}>
      {title}
    </a>
  ));
  return <nav aria-label="Threads">{links}</nav>;
}

function Footer({ message: { id, role, content } }: MessageSlotProps) {
  const { edit, regenerate } = useThread();
  if (role !== "user") return null;
  const ask = () => {
    const text = prompt("Say it otherwise:", String(content));
    if (text !== null) edit(id, text);
  };
  return (
    <footer>
      <button onClick={ask}>Edit</button>
      <button onClick={() => regenerate(id)}>Again</button>
      <BranchSwitcher messageId={id} />
    </footer>
  );
}

const COMPONENTS = { Footer };

function Plan() {
  const [{ steps = [] }, setPlan] = useSharedState<{ steps?: { title: string; done: boolean }[] }>();
  const add = () => setPlan((plan) => ({ ...plan, steps: [...steps, { title: "One more", done: false }] }));
  const items = steps.map(({ title, done }) => <li key={title}>{`${title}: ${done ? "done" : "to do"}`}</li>);
  if (steps.length === 0) return null;
  return (
    <section aria-label="Plan">
      <ol>{items}</ol>
      <button onClick={add}>Add a step</button>
    </section>
  );
}

function Chat() {
  const { status, error } = useRun(thread);
  useFrontendTool<{ colour: string }>({
    name: "set_colour",
    description: "Colours the page.",
    parameters: { type: "object", properties: { colour: { type: "string" } }, required: ["colour"] },
    handler: ({ colour }) => (document.body.style.background = colour),
  });
  return (
    <ThreadRoot id={thread} agent={agent}>
      <MessageList components={COMPONENTS} empty="Say something." />
      <Plan />
      <Approvals />
      <p role="status">{error === undefined ? status : `${status}: ${error.message}`}</p>
      <Composer />
    </ThreadRoot>
  );
}

createRoot(document.querySelector("#root") ?? document.body).render(
  <HeddleProvider url={server}>
    <Sidebar />
    <Chat />
  </HeddleProvider>,
);
