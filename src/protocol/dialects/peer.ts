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

/** Whether a peer is older than a version. One that cannot be read is taken to be newer (R-VER-14). */
export function isOlder({ version }: Peer, than: string): boolean {
  const theirs = version === undefined ? undefined : parseVersion(version);
  return theirs !== undefined && compareVersions(theirs, parseVersion(than) ?? []) < 0;
}
