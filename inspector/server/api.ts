/** What the server tells the inspector beyond threads: who asks, how it is, and how an agent elsewhere behaves. */

/** How the server is (`GET /status`), and what came of trying an agent elsewhere (`POST /checks`). */
export type { AgentCheck as Check, ServerStatus as Status } from "heddle/server";

/** Who asks, and what they may (`GET /me`). */
export interface Me {
  readonly tenant: string;
  readonly user?: string;
  readonly roles: readonly string[];
  readonly role?: "observer" | "collaborator" | "owner" | "operator";
  readonly mayStart: boolean;
  readonly mayOperate: boolean;
  readonly mayCheck: boolean;
  readonly authenticated: boolean;
}

/** What `META` events of these types say that Heddle itself wrote into the log. */
export const NOTES = { repair: "heddle.repair", warning: "heddle.warning" } as const;
