/** What the benchmark uses of CopilotKit's runtime, so that types are checked where the runtime is not installed. */
declare module "@copilotkit/runtime/v2" {
  import type { AbstractAgent } from "@ag-ui/client";

  /** Agents behind CopilotKit's endpoints. */
  export interface CopilotRuntime {
    /** Executes runs and keeps them; in memory unless another is given. */
    readonly runner: object;
  }
  export const CopilotRuntime: new (options: {
    readonly agents: Readonly<Record<string, AbstractAgent>>;
  }) => CopilotRuntime;
}

declare module "@copilotkit/runtime/v2/node" {
  import type { RequestListener } from "node:http";
  import type { CopilotRuntime } from "@copilotkit/runtime/v2";

  /** CopilotKit's endpoints for `node:http`. */
  export function createCopilotNodeListener(options: {
    readonly runtime: CopilotRuntime;
    readonly basePath: string;
  }): RequestListener;
}
