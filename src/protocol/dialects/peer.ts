/** Who is at the other end: the version and the dialect that it can read. */
import { compareVersions, parseVersion } from "../version.ts";

/** What is known of a peer. What is not known is taken to be current (R-VER-21). */
export interface Peer {
  /** Version that it speaks: `1.0`, or a package version such as `0.0.57`. Absent means current. */
  readonly version?: string | undefined;
  /** `single` for the form of seed 000: one interrupt beside a string outcome, one resume object. */
  readonly interrupts?: "list" | "single";
  /** Whether it asked for META events. */
  readonly meta?: boolean;
}

/** A peer that sent a run without `protocolVersion`: one from before 1.0, of unknown age (PROTO-VER-1). */
export const UNDECLARED_PEER: Peer = { version: "0.0.57" };

/** When AG-UI's packages learnt what 1.0 has: read off the published schemas, release by release. */
const SINCE = {
  activities: "0.0.40",
  contentParts: "0.0.40",
  parentRunId: "0.0.40",
  reasoning: "0.0.45",
  mediaParts: "0.0.49",
  emptyDeltas: "0.0.50",
  outcomes: "0.0.54",
  subagents: "0.0.59",
  toolResultParts: "1.0",
  fileSources: "1.0",
  cancelledOutcome: "1.0",
  pendingToolCallIds: "1.0",
  protocolVersion: "1.0",
  optionalInputFields: "1.0",
} as const;

/** Something that 1.0 has and some peers lack. */
export type Feature = keyof typeof SINCE;

/** Whether a peer is too old for something. A version that cannot be read is taken to be newer (R-VER-14). */
export function lacks({ version }: Peer, feature: Feature): boolean {
  const theirs = version === undefined ? undefined : parseVersion(version);
  return theirs !== undefined && compareVersions(theirs, parseVersion(SINCE[feature]) ?? []) < 0;
}
