/**
 * Pointers of RFC 6901, split into tokens and back.
 *
 * The first token is always the empty one before the first slash. Whoever walks a document puts it under the key `""`
 * of a holder, and the pointer to the whole document needs no case of its own. Each token has one escaped form, so two
 * pointers name the same place exactly when they are the same text.
 */

/** Tokens of a pointer, unescaped, the first one empty; undefined when it is malformed. */
export function pointerTokens(pointer: string): string[] | undefined {
  const tokens = pointer.split("/");
  if (tokens[0] !== "") return undefined;
  if (!pointer.includes("~")) return tokens;
  // "~01" is "~1": the tilde comes last.
  return /~(?![01])/.test(pointer)
    ? undefined
    : tokens.map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The pointer to a member of what another pointer names. */
export const pointerTo = (parent: string, key: string | number): string =>
  `${parent}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
