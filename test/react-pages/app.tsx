/**
 * A page with every hook in a component of its own, and the parts. What each hook gives is also `hooks` of the page, so that a
 * test can use it as a component would.
 */
import {
  Approvals,
  BranchSwitcher,
  Composer,
  HeddleProvider,
  MessageList,
  ThreadRoot,
  useBranches,
  useFrontendTool,
  useInterrupts,
  useRun,
  useSharedState,
  useThread,
  useThreads,
} from "heddle/react";
import type {
  BranchesHandle,
  HeddleProviderProps,
  InterruptsHandle,
  MessageSlotProps,
  RunHandle,
  SharedState,
  TextProps,
  ThreadHandle,
  ThreadsHandle,
} from "heddle/react";

/** What the hooks of the page gave at their last render. */
export interface Hooks {
  thread: ThreadHandle;
  run: RunHandle;
  interrupts: InterruptsHandle;
  state: SharedState<{ readonly count?: number }>;
  branches: BranchesHandle;
  threads: ThreadsHandle;
  executions: string[];
}

const hooks: Partial<Hooks> = { executions: [] };
Object.assign(globalThis, { hooks });

function Actions() {
  const thread = useThread();
  hooks.thread = thread;
  return <p>{`status ${thread.status}`}</p>;
}

function RunState() {
  hooks.run = useRun();
  return <p>{`run ${hooks.run.status}`}</p>;
}

function Questions() {
  hooks.interrupts = useInterrupts();
  return <p>{`questions ${hooks.interrupts.interrupts.length} answered ${hooks.interrupts.answers.size}`}</p>;
}

function State() {
  hooks.state = useSharedState();
  return <p>{`count ${hooks.state[0].count ?? "none"}`}</p>;
}

function Branches() {
  hooks.branches = useBranches();
  return <p>{`runs ${hooks.branches.runs.length} forks ${hooks.branches.points.length}`}</p>;
}

function Threads({ q }: { readonly q: string }) {
  hooks.threads = useThreads({ q });
  return (
    <p>{`threads ${hooks.threads.threads?.map(({ threadId, title }) => title ?? threadId).join() ?? "unknown"}`}</p>
  );
}

function Tool() {
  useFrontendTool<{ readonly word: string }>({
    name: "shout",
    description: "Says a word loudly.",
    handler: ({ word }, { toolCallId }) => {
      hooks.executions?.push(toolCallId);
      return word.toUpperCase();
    },
  });
  return null;
}

function Text({ text, message }: TextProps) {
  return <p id={message.id}>{text}</p>;
}

function Footer({ message }: MessageSlotProps) {
  return <BranchSwitcher messageId={message.id} />;
}

const COMPONENTS = { Text, Footer };

/** The page, with a thread. */
export function App({ thread, ...provided }: HeddleProviderProps & { readonly thread: string }) {
  return (
    <HeddleProvider {...provided}>
      <Threads q={thread} />
      <Tool />
      <ThreadRoot id={thread} agent="test">
        <Actions />
        <RunState />
        <Questions />
        <State />
        <Branches />
        <MessageList components={COMPONENTS} empty={<p>Nothing was said.</p>} />
        <Approvals />
        <Composer />
      </ThreadRoot>
    </HeddleProvider>
  );
}
