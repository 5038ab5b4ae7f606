/** Ids that nobody else makes: 128 random bits behind a word that says what they name. */

/** A new id. Not by `crypto.randomUUID`: browsers have that on secure pages only. */
export function mintId(kind: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `${kind}_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
