/**
 * How a reader asks to be shown events, in the query. For a GET it is the only place for the reader's version; a client from
 * before 1.0 has no field for it in what it posts, so without it such a client gets what the oldest of its kind can read.
 */
import type { ShowOptions } from "../index.ts";
import { flag, text } from "./parameter.ts";
import type { RouteRequest } from "./route.ts";

const protocol = text(
  "protocol",
  "Version of AG-UI that the reader speaks, such as 0.0.59. Default: what the body says, and the current one for a GET.",
);
const meta = flag("meta", "Whether META events are sent. Default false.");
const raw = flag(
  "raw",
  "Whether RAW events, rawEvent, and messages of role system and developer are sent. Default false.",
);

/** The parameters. */
export const SHOW_PARAMETERS = [protocol, meta, raw] as const;

/** What the query asks for; what it does not mention is left out. */
export function askedShow(request: RouteRequest): Pick<ShowOptions, "peer" | "meta" | "raw"> {
  const version = protocol.read(request);
  return {
    ...(version !== undefined && { peer: { version } }),
    meta: meta.read(request),
    raw: raw.read(request),
  };
}
