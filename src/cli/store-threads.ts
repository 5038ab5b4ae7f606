/** Threads of a store, opened on its first use. */
import { HeddleError } from "../protocol/index.ts";
import { exportThread, importThread, splitLines } from "../store/index.ts";
import type { Store, ThreadInfo, ThreadKey } from "../store/index.ts";
import { printable } from "./thread-text.ts";
import type { ListedThread, ThreadSource } from "./thread-source.ts";

/** The threads of a tenant in a store. The store is closed with them. */
export function storeThreads(store: Store, tenant: string): ThreadSource {
  return {
    async list(request) {
      const { threads, next } = await store.listThreads({ ...request, tenant });
      return { threads: await Promise.all(threads.map((thread) => withStatus(store, thread))), next };
    },
    async thread(threadId) {
      const key = { tenant, threadId };
      const thread = await store.thread(key);
      if (thread === undefined) throw unknown(key);
      return { ...thread, runs: await store.runs(key) };
    },
    export: (threadId) => exportThread(store, { tenant, threadId }),
    import: ({ chunks, threadId, onSettled }) =>
      importThread(store, { tenant, threadId }, splitLines(chunks), { onSettled }),
    async remove(threadId) {
      if (!(await store.deleteThread({ tenant, threadId }))) throw unknown({ tenant, threadId });
    },
    close: () => store.close(),
  };
}

async function withStatus(store: Store, thread: ThreadInfo): Promise<ListedThread> {
  const { head } = thread;
  return { ...thread, status: head === undefined ? undefined : (await store.run({ ...thread, runId: head }))?.status };
}

function unknown({ tenant, threadId }: ThreadKey): HeddleError {
  const message = `There is no thread ${printable(threadId)} of the tenant ${printable(tenant)}: "heddle threads ls" lists them.`;
  return new HeddleError("thread-unknown", message, { threadId });
}
