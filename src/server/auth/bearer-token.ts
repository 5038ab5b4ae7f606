/**
 * The token of `Authorization: Bearer <token>` (RFC 6750). The scheme is read in any case. A header that was sent twice
 * arrives joined by a comma, and no token holds a comma or a space, so it is refused and not guessed at. The length is
 * judged before anything else looks at the text.
 */

/** Longest header that is looked at, in characters. */
export const MAX_HEADER_CHARS = 8 * 1024;

/** What a token is made of: ASCII that can be seen, without a comma. */
export const TOKEN_CHARS = "[\\x21-\\x2b\\x2d-\\x7e]";

const BEARER = new RegExp(`^bearer +(${TOKEN_CHARS}+)$`, "i");

/** The token; undefined where the header holds anything but one. */
export function bearerToken(header: string): string | undefined {
  return header.length > MAX_HEADER_CHARS ? undefined : BEARER.exec(header)?.[1];
}
