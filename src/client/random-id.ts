/** A new id for a message, a run or a thread: a random UUID. Unlike `crypto.randomUUID` it is there on pages over plain HTTP too, which browsers do not call secure. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})/, "$1-$2-4$3-a$4-");
}
