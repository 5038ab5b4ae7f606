/** What the setting of sessions may hold: their options, as JSON in a variable, or false where there are to be none. */
import { assertSessionOptions } from "../server/fastify/index.ts";
import type { SessionOptions } from "../server/fastify/index.ts";
import { jsonText } from "./setting-kinds.ts";
import type { Kind } from "./setting-kinds.ts";

/** Sessions, or none. */
export const sessions: Kind<SessionOptions | false> = {
  fromText: jsonText,
  read(place, value) {
    if (value === false) return value;
    assertSessionOptions(value, place);
    return value;
  },
};
