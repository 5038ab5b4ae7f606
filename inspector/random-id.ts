/** A new id: 128 random bits. Not by `crypto.randomUUID`: browsers have that on secure pages only, and a page over plain HTTP is none. */
export const randomId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
