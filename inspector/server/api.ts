/** What the server tells the inspector beyond threads: who asks, how it is, and how an agent elsewhere behaves. */

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

/** How the server is (`GET /status`). */
export interface Status {
  readonly version: string;
  readonly startedAt: string;
  readonly now: string;
  readonly ready: boolean;
  readonly store: {
    readonly status: string;
    readonly kind: string;
    readonly threads: number;
    readonly runs: number;
    readonly events: number;
    readonly rawBytes: number;
    readonly compactedBytes: number;
    readonly snapshotBytes: number;
    readonly totalBytes: number;
  };
  readonly runs: {
    readonly running: number;
    readonly queued: number;
    readonly list: readonly {
      readonly threadId: string;
      readonly runId: string;
      readonly agent: string;
      readonly startedAt: string;
      readonly events: number;
    }[];
  };
  readonly viewers: number;
  readonly slowestLagEvents: number;
  readonly sockets: number;
  readonly reconnects: number;
  readonly commits: {
    readonly count: number;
    readonly p50Ms: number;
    readonly p95Ms: number;
    readonly p99Ms: number;
    readonly recent: readonly { readonly at: string; readonly ms: number }[];
  };
  readonly totals: {
    readonly started: number;
    readonly ended: Readonly<Record<string, number>>;
    readonly events: number;
  };
  readonly repairs: readonly { readonly rule: string; readonly count: number }[];
  readonly rejections: readonly { readonly code: string; readonly count: number }[];
  readonly errors: readonly {
    readonly at: string;
    readonly code: string;
    readonly message: string;
    readonly threadId?: string;
    readonly runId?: string;
    readonly agent?: string;
  }[];
}

/** What came of trying an agent elsewhere (`POST /checks`). */
export interface Check {
  readonly ok: boolean;
  readonly reached: boolean;
  readonly sentence: string;
  readonly url: string;
  readonly status?: number;
  readonly contentType?: string;
  readonly firstEventMs?: number;
  readonly totalMs: number;
  readonly events: number;
  readonly types: Readonly<Record<string, number>>;
  readonly outcome?: string;
  readonly text: string;
  readonly findings: readonly {
    readonly kind: "repair" | "warning" | "error";
    readonly rule?: string;
    readonly message: string;
    readonly at?: number;
  }[];
  readonly sample: readonly unknown[];
}

/** What `META` events of these types say that Heddle itself wrote into the log. */
export const NOTES = { repair: "heddle.repair", warning: "heddle.warning" } as const;
