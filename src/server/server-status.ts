/**
 * How a server is, on one page: what `GET /status` answers. Numbers are those of the process, and of its store; what names a thread
 * is of one tenant only.
 *
 * Everything is put together when somebody asks, from what is kept anyway.
 */
import type { StoreUsage } from "../store/index.ts";
import type { Health } from "./check-health.ts";
import type { Hubs } from "./hubs.ts";
import type { KeptUsage } from "./kept-usage.ts";
import type { RunningRun } from "./live-runs.ts";
import { packageVersion } from "./package-version.ts";
import type { RecentError, RecentErrors } from "./recent-errors.ts";
import type { Runs } from "./runs.ts";
import type { CommitSummary, Telemetry } from "./telemetry/index.ts";

/** How a server is. Dates are of ISO 8601. */
export interface ServerStatus {
  /** Version of this package. */
  readonly version: string;
  /** When the server was made. */
  readonly startedAt: string;
  /** When this was told. */
  readonly now: string;
  /** Whether it takes runs. */
  readonly ready: boolean;
  /** The store: how it is, what it is, and how much it holds, which may be some seconds old. */
  readonly store: Omit<StoreUsage, "queued"> & {
    /** `ok`, or what is wrong with it, in one sentence. */
    readonly status: string;
    /** What kind of store it is. */
    readonly kind: string;
  };
  /** Runs. */
  readonly runs: {
    /** How many are executed here. */
    readonly running: number;
    /** How many wait in the store, as far as it was asked lately. */
    readonly queued: number;
    /** Those of the tenant that are executed here, in the order in which they began. */
    readonly list: readonly RunningRun[];
  };
  /** How many follow a thread or a run here. */
  readonly viewers: number;
  /** How many events the slowest of them is behind. */
  readonly slowestLagEvents: number;
  /** How many WebSockets are open here. */
  readonly sockets: number;
  /** How often somebody came back with a cursor. */
  readonly reconnects: number;
  /** How long commits take. */
  readonly commits: CommitSummary;
  /** What happened since the start. */
  readonly totals: {
    /** Runs that were begun here. */
    readonly started: number;
    /** Runs that are over, by how they ended. */
    readonly ended: Readonly<Record<string, number>>;
    /** Events that were committed. */
    readonly events: number;
  };
  /** What had to be put right, the most frequent first. */
  readonly repairs: readonly {
    /** The rule that was broken. */
    readonly rule: string;
    /** How often. */
    readonly count: number;
  }[];
  /** Requests that were refused, the most frequent first. */
  readonly rejections: readonly {
    /** Code of the error. */
    readonly code: string;
    /** How often. */
    readonly count: number;
  }[];
  /** What went wrong lately, in threads of the tenant and in the process, the newest first. At most 50. */
  readonly errors: readonly RecentError[];
}

/** What is looked at. */
export interface StatusParts {
  /** What kind of store there is. */
  readonly kind: string;
  /** How much it holds. */
  readonly usage: KeptUsage;
  /** What is counted. */
  readonly telemetry: Telemetry;
  /** Who follows. */
  readonly hubs: Hubs;
  /** What runs. */
  readonly runs: Runs;
  /** What went wrong. */
  readonly errors: RecentErrors;
  /** Whether the server can do its work. */
  readonly health: () => Promise<Health>;
}

/** Tells how a server is. */
export class StatusBoard {
  readonly #parts: StatusParts;
  readonly #startedAt = new Date().toISOString();

  constructor(parts: StatusParts) {
    this.#parts = parts;
  }

  /** How the server is, for an operator of a tenant. Never rejects. */
  async tell(tenant: string): Promise<ServerStatus> {
    const { kind, usage, telemetry, hubs, runs, errors, health } = this.#parts;
    const [{ ready, store: status }, { queued, ...held }] = await Promise.all([health(), usage.look()]);
    return {
      version: packageVersion(),
      startedAt: this.#startedAt,
      now: new Date().toISOString(),
      ready,
      store: { status, kind, ...held },
      runs: { running: runs.size, queued, list: runs.list(tenant) },
      viewers: hubs.viewers,
      slowestLagEvents: hubs.lag,
      sockets: telemetry.sockets,
      reconnects: telemetry.sum("reconnects"),
      commits: telemetry.commits.summary(),
      totals: {
        started: telemetry.sum("runsStarted"),
        ended: Object.fromEntries(telemetry.counts("runsEnded", "status")),
        events: telemetry.sum("events"),
      },
      repairs: mostFirst(telemetry.counts("repairs", "rule")).map(([rule, count]) => ({ rule, count })),
      rejections: mostFirst(telemetry.counts("rejections", "code")).map(([code, count]) => ({ code, count })),
      errors: errors.of(tenant),
    };
  }
}

const mostFirst = (counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] =>
  [...counts].toSorted(([, a], [, b]) => b - a);
