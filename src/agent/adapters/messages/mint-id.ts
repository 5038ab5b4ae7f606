/** Ids for what a source gives none. Not `crypto.randomUUID`: browsers have that on secure pages only. */

/** A new id with a prefix that says what it is for. */
export function mintId(prefix: "msg" | "call"): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `${prefix}_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
