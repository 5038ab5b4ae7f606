/** A new id: a random UUID. Not by `crypto.randomUUID`: browsers have that on secure pages only, and one over plain HTTP is none. */
export function randomId(): ReturnType<Crypto["randomUUID"]> {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}
